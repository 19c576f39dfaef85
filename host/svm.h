// SPDX-License-Identifier: BSD-2-Clause
//
// Support vector regression (nu-SVR, radial basis functions) from libsvm's text form.
#ifndef EXACTVQ_HOST_SVM_H
#define EXACTVQ_HOST_SVM_H

#include <cstddef>
#include <string_view>
#include <vector>

namespace exactvq {

struct Svm {
    size_t dimensions = 0;
    double gamma = 0, rho = 0;
    std::vector<double> coefficients;  // of each support vector, in the order of the text, in which they are summed
    std::vector<double> vectors;       // `dimensions` each; what the text leaves out is 0

    double predict(const double* x) const;
};

// Throws Error whose text says what is wrong in the libsvm text.
Svm parse_svm(std::string_view text, size_t dimensions);

}  // namespace exactvq

#endif  // EXACTVQ_HOST_SVM_H

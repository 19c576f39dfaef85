// SPDX-License-Identifier: BSD-2-Clause
//
// Failures inside the library: a status and the sentence for the user. The C API turns them into return values.
#ifndef EXACTVQ_HOST_ERROR_H
#define EXACTVQ_HOST_ERROR_H

#include <stdexcept>
#include <string>

#include "exactvq/exactvq.h"

namespace exactvq {

// Sentences name files and texts of users, which may hold line feeds and what terminals obey.
inline std::string one_line(std::string sentence) {
    for (char& c : sentence)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return sentence;
}

class Error : public std::runtime_error {
public:
    Error(exactvq_status status, const std::string& sentence) : std::runtime_error(one_line(sentence)), status_(status) {}
    exactvq_status status() const { return status_; }

private:
    exactvq_status status_;
};

}  // namespace exactvq

#endif  // EXACTVQ_HOST_ERROR_H

// SPDX-License-Identifier: BSD-2-Clause
//
// What fake drivers share: settings in an environment variable, a list "key=value,key=value", and handles that are pointers to objects in sets.
#ifndef EXACTVQ_TESTS_SUPPORT_FAKE_SETTINGS_H
#define EXACTVQ_TESTS_SUPPORT_FAKE_SETTINGS_H

#include <cstdlib>
#include <set>
#include <string>

namespace exactvq::test {

class FakeSettings {
public:
    explicit FakeSettings(const char* variable) : variable_(variable) {}

    std::string text(const std::string& key, const std::string& otherwise) const {
        const char* value = std::getenv(variable_);
        std::string all = ",";
        if (value) all += value;
        const size_t at = all.find("," + key + "=");
        if (at == std::string::npos) return otherwise;
        const size_t begin = at + key.size() + 2;
        return all.substr(begin, all.find(',', begin) - begin);
    }
    int number(const std::string& key, int otherwise) const { return std::atoi(text(key, std::to_string(otherwise)).c_str()); }

private:
    const char* variable_;
};

// False if there is no such object.
template <class T>
bool destroy(std::set<T*>& all, T* object) {
    if (!all.erase(object)) return false;
    delete object;
    return true;
}

}  // namespace exactvq::test

#endif  // EXACTVQ_TESTS_SUPPORT_FAKE_SETTINGS_H

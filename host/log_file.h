// SPDX-License-Identifier: BSD-2-Clause
//
// A file that appears under its name when it is complete, or not at all.
#ifndef EXACTVQ_HOST_LOG_FILE_H
#define EXACTVQ_HOST_LOG_FILE_H

#include <string>
#include <string_view>

namespace exactvq {

class LogFile {
public:
    // "-" is standard output. keep_parts: a log that this process has written under the path before, and that is still there, is kept, and this one gets the
    // name of a further part, log.part2.json. A path that another log of this process is being written to is refused. Throws Error.
    LogFile(const std::string& path, bool keep_parts);
    ~LogFile();  // removes what was not finished
    LogFile(LogFile&& other) noexcept;
    LogFile& operator=(LogFile&&) = delete;

    const std::string& path() const { return path_; }
    bool is_part() const { return is_part_; }

    void write(std::string_view text);  // throws Error
    void finish();                      // gives the file its name; throws Error

private:
    void open_beside();

    std::string path_, temporary_;
    bool claimed_ = false;  // no other log of this process is written to path_, which is canonical
    bool is_part_ = false;
    int fd_ = -1;
};

}  // namespace exactvq

#endif  // EXACTVQ_HOST_LOG_FILE_H

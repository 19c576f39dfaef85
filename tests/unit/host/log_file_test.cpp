// SPDX-License-Identifier: BSD-2-Clause
#include "host/log_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "host/error.h"

namespace exactvq {
namespace {

class LogFileTest : public testing::Test {
protected:
    LogFileTest() {
        char name[] = "/tmp/exactvq-log-XXXXXX";
        folder_ = mkdtemp(name);
    }
    ~LogFileTest() override { std::filesystem::remove_all(folder_); }
    size_t files() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }
    std::string path(const char* name) const { return folder_ + "/" + name; }
    std::string text(const char* name) const {
        std::stringstream all;
        all << std::ifstream(path(name)).rdbuf();
        return all.str();
    }
    void write(const char* name, const char* text, bool keep_parts) {
        LogFile log(path(name), keep_parts);
        log.write(text);
        log.finish();
    }

    std::string folder_;
};

TEST_F(LogFileTest, AppearsWhenComplete) {
    std::ofstream(path("log")) << "old";
    {
        LogFile log(path("log"), false);
        EXPECT_EQ(files(), 2u);
        EXPECT_EQ(text("log"), "old");
        log.write("new\n");
        log.finish();
    }
    EXPECT_EQ(text("log"), "new\n");
    EXPECT_EQ(files(), 1u);
}

TEST_F(LogFileTest, FollowsLinksAndKeepsPermissions) {
    std::ofstream(path("target")) << "old";
    chmod(path("target").c_str(), 0600);
    std::filesystem::create_symlink("target", path("link"));
    {
        LogFile log(path("link"), false);
        log.write("new");
        log.finish();
    }
    struct stat info;
    ASSERT_EQ(lstat(path("link").c_str(), &info), 0);
    EXPECT_TRUE(S_ISLNK(info.st_mode));
    ASSERT_EQ(stat(path("target").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u);
    EXPECT_EQ(info.st_size, 3);
    EXPECT_EQ(files(), 2u);
}

TEST_F(LogFileTest, FollowsLinksThatLeadNowhere) {
    std::filesystem::create_directory(path("other"));
    std::filesystem::create_symlink("other/target", path("link"));
    write("link", "new", false);
    EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
    EXPECT_EQ(text("other/target"), "new");
    std::filesystem::create_symlink("round", path("round"));
    EXPECT_THROW(LogFile(path("round"), false), Error);
}

TEST_F(LogFileTest, KeepsPermissionsForAll) {
    std::ofstream(path("log")) << "old";
    chmod(path("log").c_str(), 0666);
    write("log", "new", false);
    struct stat info;
    ASSERT_EQ(stat(path("log").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0666u);
}

// Files in memory are files.
TEST_F(LogFileTest, ReplacesFilesUnderDev) {
    const std::string name = "/dev/shm/exactvq-log-test." + std::to_string(getpid());
    for (const char* text : {"first", "second"}) {
        LogFile log(name, false);
        log.write(text);
        log.finish();
    }
    std::stringstream all;
    all << std::ifstream(name).rdbuf();
    EXPECT_EQ(all.str(), "second");
    std::filesystem::remove(name);
}

TEST_F(LogFileTest, WritesDevicesAndPipesDirectly) {
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    const int reader = open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK);
    {
        LogFile log(path("fifo"), false);
        log.write("text");
        log.finish();
    }
    char text[8] = "";
    EXPECT_EQ(read(reader, text, sizeof text), 4);
    close(reader);
    LogFile full("/dev/full", false);
    EXPECT_THROW(full.write("x"), Error);
    EXPECT_EQ(files(), 1u);
}

TEST_F(LogFileTest, LeavesNothingWhenNotFinished) {
    { LogFile log(path("log"), false); }
    EXPECT_EQ(files(), 0u);
}

TEST_F(LogFileTest, SaysInOneLineWhatFails) {
    try {
        LogFile log(path("no\nfolder\x1b[2J/log"), false);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.what(), "cannot write the log '" + path("no?folder?[2J/log") + "': No such file or directory");
    }
}

TEST_F(LogFileTest, RefusesAtOnceWhatCannotBeWritten) {
    EXPECT_THROW(LogFile(path("no/such/folder/log"), false), Error);
    EXPECT_THROW(LogFile(folder_, false), Error);
    std::ofstream(path("file")) << "x";
    EXPECT_THROW(LogFile(path("file/log"), false), Error);
    try {
        LogFile log(path("no/log"), false);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), EXACTVQ_ERROR_IO);
        EXPECT_EQ(std::string(error.what()), "cannot write the log '" + path("no/log") + "': No such file or directory");
    }
    EXPECT_EQ(files(), 1u);
}

TEST_F(LogFileTest, KeepsPartsOfThisProcess) {
    std::ofstream(path("log.json")) << "of another run";
    std::ofstream(path("log.part2.json")) << "of another run";
    write("log.json", "1", true);
    EXPECT_EQ(text("log.json"), "1");
    write("log.json", "2", true);
    std::filesystem::create_symlink("log.json", path("link"));
    write("link", "3", true);  // the same file
    EXPECT_EQ(text("log.json") + text("log.part2.json") + text("log.part3.json"), "123");
    LogFile part(path("log.json"), true);
    EXPECT_TRUE(part.is_part());
    EXPECT_EQ(std::filesystem::path(part.path()).filename(), "log.part4.json");

    write("log.json", "again", false);
    EXPECT_EQ(text("log.json"), "again");
    std::filesystem::remove(path("log.json"));
    write("log.json", "first", true);  // taken away by the user: the name is free
    EXPECT_EQ(text("log.json"), "first");
    for (const char* name : {"plain", ".hidden"}) {
        write(name, "1", true);
        write(name, "2", true);
        EXPECT_EQ(text((std::string(name) + ".part2").c_str()), "2");
    }
}

TEST_F(LogFileTest, TwoAtOnceAreRefused) {
    std::filesystem::create_directory_symlink(folder_, path("here"));
    {
        LogFile first(path("log"), true);
        for (const char* name : {"log", "here/log", "./log"}) {
            try {
                LogFile second(path(name), true);
                ADD_FAILURE() << name;
            } catch (const Error& error) {
                EXPECT_EQ(error.status(), EXACTVQ_ERROR_IO);
                EXPECT_NE(std::string(error.what()).find("is being written already"), std::string::npos) << error.what();
            }
        }
        LogFile other(path("other"), true);
        LogFile moved(std::move(first));
        EXPECT_THROW(LogFile(path("log"), false), Error);
    }
    write("log", "free again", true);
    EXPECT_EQ(files(), 2u);
}

}  // namespace
}  // namespace exactvq

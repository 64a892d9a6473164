#include "core/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/file_digest.h"
#include "core/folder.h"
#include "core/output_file.h"
#include "tests/core/file_util.h"

namespace gf {
namespace {

class FileTest : public FolderOfTest {};

TEST_F(FileTest, OnlyAPipeThatItsReaderHasClosedHasNoReader) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_TRUE(HasReader(ends[1]));
  close(ends[0]);
  EXPECT_FALSE(HasReader(ends[1]));
  close(ends[1]);
  EXPECT_TRUE(HasReader(OpenOrCreate(Path("a")).get()));
  EXPECT_TRUE(HasReader(-1));
}

TEST_F(FileTest, ReadsAtAnyOffsetUpToTheEnd) {
  ReplaceFile(Path("a"), "0123456789");
  const InputFile file(Path("a"));
  EXPECT_EQ(file.size(), 10);
  char text[8] = {};
  EXPECT_EQ(file.ReadAt(3, text, 4), 4u);
  EXPECT_EQ(std::string(text, 4), "3456");
  EXPECT_EQ(file.ReadAt(8, text, 4), 2u);
  EXPECT_EQ(file.ReadAt(10, text, 4), 0u);
  EXPECT_EQ(file.ReadAt(99, text, 4), 0u);
}

TEST_F(FileTest, WhatCannotBeOpenedIsNamedWithReasonAndAdvice) {
  const std::string missing = Path("missing"), below = Path("a") + "/b";
  ReplaceFile(Path("a"), "x");
  for (const auto& open : std::vector<std::function<void(const std::string&)>>{
           [](const std::string& path) { InputFile file(path); },
           [](const std::string& path) { ReadSmallFile(path, 10); },
           [](const std::string& path) { ReadFileOrPipe(path, 10); },
           [](const std::string& path) { DigestFile(path); }}) {
    EXPECT_EQ(ErrorOf([&] { open(missing); }),
              "cannot open " + missing + ": No such file or directory (check the path)");
    EXPECT_EQ(ErrorOf([&] { open(below); }),
              "cannot open " + below + ": Not a directory (check the path)");
    EXPECT_NE(ErrorOf([&] { open(Path(std::string(300, 'n'))); }).find("(choose a shorter name)"),
              std::string::npos);
    const std::string folder = ErrorOf([&] { open(path()); });
    EXPECT_NE(folder.find(path() + ": Is a directory (name a file)"), std::string::npos) << folder;
  }
}

TEST_F(FileTest, AFileWithoutRightsIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "SKIPPED: root can read every file";
  ReplaceFile(Path("secret"), "x");
  ASSERT_EQ(chmod(Path("secret").c_str(), 0), 0);
  EXPECT_EQ(ErrorOf([&] { InputFile file(Path("secret")); }),
            "cannot open " + Path("secret") +
                ": Permission denied (check the rights of the file and of its folders)");
}

TEST_F(FileTest, APipeIsRefusedWithoutWaitingForItsWriter) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf([&] { InputFile file(Path("pipe")); }),
            "cannot open " + Path("pipe") + ": not a regular file, which is expected here");
}

TEST_F(FileTest, SmallFilesHaveALimit) {
  ReplaceFile(Path("a"), "0123456789");
  EXPECT_EQ(ReadSmallFile(Path("a"), 10), "0123456789");
  EXPECT_EQ(ErrorOf([&] { ReadSmallFile(Path("a"), 9); }),
            Path("a") + ": has 10 bytes, expected at most 9");
  EXPECT_EQ(ReadFileOrPipe(Path("a"), 10), "0123456789");
  EXPECT_EQ(ErrorOf([&] { ReadFileOrPipe(Path("a"), 9); }),
            Path("a") + ": has more than 9 bytes, which is the most expected here");
  EXPECT_NE(ErrorOf([&] { ReadFileOrPipe("/dev/zero", 1 << 20); }).find("more than 1048576 bytes"),
            std::string::npos);
}

TEST_F(FileTest, APipeThatTheUserNamesIsReadToItsEnd) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const std::string text(200000, 'x');
  std::thread writer([&] { ReplaceFile(Path("pipe"), text); });
  EXPECT_EQ(ReadFileOrPipe(Path("pipe"), 1 << 20), text);
  writer.join();
}

TEST_F(FileTest, EachErrnoThatAUserCanMendHasAdvice) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EACCES, EPERM, EROFS, EMFILE, ENFILE, ENOENT,
                          ENOTDIR, EISDIR, ENAMETOOLONG, EIO, ESTALE}) {
    const std::string text = ExplainErrno(error);
    EXPECT_EQ(text.find(std::strerror(error)), 0u) << text;
    EXPECT_EQ(text.back(), ')') << text;
  }
  EXPECT_EQ(ExplainErrno(EINVAL), std::strerror(EINVAL));
  EXPECT_EQ(ExplainErrno(ENOSPC),
            "No space left on device (free some space, or write to another folder)");
}

TEST_F(FileTest, TooManyOpenFilesAreExplained) {
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit none = old;
  none.rlim_cur = 0;
  ReplaceFile(Path("a"), "x");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string error;
  try {
    InputFile file(Path("a"));
  } catch (const UserError& e) {
    error = e.what();
  }
  setrlimit(RLIMIT_NOFILE, &old);
  EXPECT_NE(error.find("Too many open files (raise the limit"), std::string::npos) << error;
}

TEST_F(FileTest, DigestsCoverSizeAndEveryByte) {
  HashedFile file(Path("a"));
  const std::string text(300000, 'x');
  file.Write(text.data(), 5);
  file.Write(text.data(), text.size());
  const FileDigest digest = file.Finish();
  EXPECT_EQ(digest.bytes, text.size() + 5);
  EXPECT_EQ(DigestFile(Path("a")), digest);
  ReplaceFile(Path("a"), text + "xxxxy");
  EXPECT_EQ(DigestFile(Path("a")).bytes, digest.bytes);
  EXPECT_NE(DigestFile(Path("a")).hash, digest.hash);
  EXPECT_EQ(HashName(0xabc), "0000000000000abc");
}

TEST_F(FileTest, ADescriptorIsClosedOnceAndByItsLastOwner) {
  FileDescriptor first = OpenOrCreate(Path("a"));
  const int number = first.get();
  FileDescriptor second;
  second = std::move(first);
  EXPECT_EQ(first.get(), -1);
  EXPECT_EQ(second.get(), number);
  EXPECT_NE(fcntl(number, F_GETFD), -1);
  second = FileDescriptor();
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
  EXPECT_TRUE(IsFile(Path("a")));
  EXPECT_EQ(ErrorOf([&] { OpenOrCreate(path()); }),
            "cannot open " + path() + ": Is a directory (name a file)");
}

TEST(NameTest, EndingsAreComparedInUpperAndLowerCase) {
  EXPECT_TRUE(HasEnding("a.JPG", ".jpg"));
  EXPECT_FALSE(HasEnding("jpg", ".jpg"));
}

}  // namespace
}  // namespace gf

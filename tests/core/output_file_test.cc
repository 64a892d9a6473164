#include "core/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <stdexcept>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "tests/core/file_util.h"

namespace gf {
namespace {

using Names = std::vector<std::string>;

class OutputFileTest : public FolderOfTest {
 protected:
  std::string Contents(const std::string& name) const { return ReadSmallFile(Path(name), 1 << 30); }
};

TEST_F(OutputFileTest, WritesOfAnySizeArriveInOrder) {
  std::string expected;
  {
    OutputFile file(Path("a"));
    for (const size_t bytes : {1, 100, 65535, 2, 65536, 65537, 3, 1000000, 0, 7}) {
      const std::string text(bytes, static_cast<char>('a' + expected.size() % 26));
      file.Write(text);
      expected += text;
    }
    file.Close();
  }
  EXPECT_EQ(Contents("a"), expected);
}

TEST_F(OutputFileTest, AppendingKeepsWhatIsThereAndOthersSeeWhatIsFlushed) {
  for (const char* text : {"one\n", "two\n"}) {
    OutputFile file(Path("log"), OutputFile::Mode::kAppend);
    file.Write(text);
    file.Flush();
    EXPECT_NE(Contents("log").find(text), std::string::npos);
  }
  EXPECT_EQ(Contents("log"), "one\ntwo\n");
  OutputFile(Path("log")).Close();
  EXPECT_EQ(Contents("log"), "");
}

TEST_F(OutputFileTest, AFullDiskIsAUserErrorWithAdvice) {
  const std::string expected =
      "cannot write /dev/full: No space left on device (free some space, or write to another "
      "folder)";
  EXPECT_EQ(ErrorOf([] { ReplaceFile("/dev/full", "x"); }), expected);
  EXPECT_EQ(ErrorOf([] {
              OutputFile file("/dev/full");
              file.Write(std::string(100000, 'x'));
            }),
            expected);
}

TEST_F(OutputFileTest, WhatCannotBeCreatedIsNamedAsTheUserNamedIt) {
  ReplaceFile(Path("a"), "x");
  for (const auto& write : std::vector<std::function<void(const std::string&)>>{
           [](const std::string& path) { OutputFile file(path); },
           [](const std::string& path) { ReplaceFile(path, "x"); }}) {
    EXPECT_EQ(ErrorOf([&] { write(Path("no/b")); }),
              "cannot write " + Path("no/b") + ": No such file or directory (check the path)");
    EXPECT_EQ(ErrorOf([&] { write(Path("a/b")); }),
              "cannot write " + Path("a/b") + ": Not a directory (check the path)");
    const std::string name(300, 'n');
    EXPECT_EQ(ErrorOf([&] { write(Path(name)); }),
              "cannot write " + Path(name) + ": File name too long (choose a shorter name)");
  }
}

TEST_F(OutputFileTest, ReplacingGivesTheNewContentsAndLeavesNothingElse) {
  ReplaceFile(Path("a"), "old");
  ReplaceFile(Path("a"), "new");
  EXPECT_EQ(Contents("a"), "new");
  EXPECT_EQ(ListFolder(path()), Names{"a"});
}

TEST_F(OutputFileTest, TheOldFileIsSeenUntilTheNewOneIsComplete) {
  ReplaceFile(Path("a"), "old");
  ReplaceFile(Path("a"), [&](OutputFile* file) {
    file->Write(std::string(100000, 'n'));
    file->Flush();
    EXPECT_EQ(Contents("a"), "old");
  });
  EXPECT_EQ(Contents("a").size(), 100000u);
}

TEST_F(OutputFileTest, AWriterThatThrowsLeavesTheOldFileAndNoTemporaryOne) {
  ReplaceFile(Path("a"), "old");
  const auto fails = [](OutputFile* file) {
    file->Write("half");
    file->Flush();
    throw std::logic_error("of the writer");
  };
  EXPECT_THROW(ReplaceFile(Path("a"), fails), std::logic_error);
  EXPECT_THROW(ReplaceFile(Path("b"), fails), std::logic_error);
  EXPECT_EQ(Contents("a"), "old");
  EXPECT_EQ(ListFolder(path()), Names{"a"});
}

TEST_F(OutputFileTest, ADiskThatIsFullHalfwayLeavesTheOldFileAndNoTemporaryOne) {
  ReplaceFile(Path("a"), "old");
  // A limit on the size of files stands for the full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit limit = old;
  limit.rlim_cur = 2000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string error = ErrorOf([&] { ReplaceFile(Path("a"), std::string(100000, 'n')); });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(error.find("cannot write " + Path("a") + ": File too large (raise the limit"), 0u)
      << error;
  EXPECT_EQ(Contents("a"), "old");
  EXPECT_EQ(ListFolder(path()), Names{"a"});
}

TEST_F(OutputFileTest, ARenameThatFailsIsAUserError) {
  MakeFolders(Path("folder/full"));
  EXPECT_EQ(ErrorOf([&] { ReplaceFile(Path("folder"), "x"); }),
            "cannot write " + Path("folder") + ": Is a directory (name a file)");
  EXPECT_EQ(ListFolder(path()), Names{"folder"});
  EXPECT_EQ(ErrorOf([&] { Rename(Path("missing"), Path("b")); }),
            "cannot rename " + Path("missing") + " to " + Path("b") +
                ": No such file or directory (check the path)");
  MakeFolders(Path("other"));
  EXPECT_EQ(ErrorOf([&] { Rename(Path("other"), Path("folder")); }),
            "cannot rename " + Path("other") + " to " + Path("folder") + ": Directory not empty");
}

TEST_F(OutputFileTest, AFolderWithoutRightsIsAUserError) {
  if (geteuid() == 0) GTEST_SKIP() << "SKIPPED: root can write everywhere";
  ASSERT_EQ(chmod(path().c_str(), 0500), 0);
  EXPECT_EQ(ErrorOf([&] { ReplaceFile(Path("a"), "x"); }),
            "cannot write " + Path("a") +
                ": Permission denied (check the rights of the file and of its folders)");
  chmod(path().c_str(), 0700);
}

TEST_F(OutputFileTest, ReplacingFollowsALinkAndKeepsIt) {
  ReplaceFile(Path("run7"), "old");
  ASSERT_EQ(symlink("run7", Path("latest").c_str()), 0);
  ReplaceFile(Path("latest"), "new");
  EXPECT_EQ(Contents("run7"), "new");
  EXPECT_TRUE(IsLink(Path("latest")));
  EXPECT_FALSE(IsLink(Path("run7")));
}

TEST_F(OutputFileTest, ReplacingThroughALinkMakesItsTarget) {
  ASSERT_EQ(symlink("target", Path("link").c_str()), 0);
  ReplaceFile(Path("link"), "new");
  EXPECT_TRUE(IsLink(Path("link")));
  EXPECT_EQ(ReadSmallFile(Path("target"), 10), "new");
}

TEST_F(OutputFileTest, UnsyncedFilesAreCompleteToo) {
  ReplaceFile(Path("a"), "old");
  ReplaceFile(Path("a"), "new", Durability::kUnsynced);
  EXPECT_EQ(ReadSmallFile(Path("a"), 10), "new");
  EXPECT_FALSE(Exists(Path("a") + ".tmp-" + std::to_string(getpid())));
}

TEST_F(OutputFileTest, AFileThatIsOpenAlreadyIsWrittenInPlace) {
  const FileDescriptor open = OpenOrCreate(Path("a"));
  ReplaceFile(StrCat("/dev/fd/", open.get()), "new");
  char text[8] = {};
  EXPECT_EQ(pread(open.get(), text, sizeof(text), 0), 3);
  EXPECT_EQ(std::string(text), "new");
  EXPECT_EQ(ListFolder(path()), Names{"a"});
}

class FolderTest : public FolderOfTest {};

TEST_F(FolderTest, AreMadeListedAndRemoved) {
  MakeFolders(Path("b/c"));
  MakeFolders(Path("b/c"));
  ReplaceFile(Path("b/.x"), "x");
  ReplaceFile(Path("b/c/y"), "y");
  ReplaceFile(Path("a"), "a");
  ASSERT_EQ(symlink("/nowhere", Path("link").c_str()), 0);
  EXPECT_EQ(ListFolder(path()), (Names{"a", "b", "link"}));
  EXPECT_EQ(ListFilesBelow(path()), (Names{"a", "b/.x", "b/c/y", "link"}));
  EXPECT_EQ(ListFilesBelow(path() + "/"), (Names{"a", "b/.x", "b/c/y", "link"}));
  EXPECT_TRUE(IsFolder(Path("b")) && !IsFolder(Path("a")) && !IsFolder(Path("link")));
  EXPECT_TRUE(IsFile(Path("a")) && !IsFile(Path("b")) && !IsFile(Path("link")));
  EXPECT_TRUE(Exists(Path("a")) && Exists(Path("link")) && !Exists(Path("c")));
  RemoveAll(Path("b"));
  RemoveAll(Path("b"));
  RemoveAll(Path("link"));
  RemoveQuietly(Path("a/b"));
  EXPECT_EQ(ListFolder(path()), Names{"a"});
  SyncFolder(path());
  EXPECT_GT(FreeBytes(path()), 0u);
}

TEST_F(FolderTest, ErrorsNameTheFolder) {
  ReplaceFile(Path("a"), "a");
  EXPECT_EQ(
      ErrorOf([&] { ListFolder(Path("no")); }),
      "cannot list the folder " + Path("no") + ": No such file or directory (check the path)");
  EXPECT_EQ(ErrorOf([&] { ListFilesBelow(Path("a")); }),
            "cannot list the folder " + Path("a") + ": Not a directory (check the path)");
  EXPECT_EQ(ErrorOf([&] { SyncFolder(Path("a")); }),
            "cannot open the folder " + Path("a") + ": Not a directory (check the path)");
  EXPECT_EQ(ErrorOf([&] { MakeFolders(Path("a/b")); }),
            "cannot create the folder " + Path("a/b") + ": Not a directory (check the path)");
  EXPECT_NE(ErrorOf([&] { MakeFolders(Path("a")); }).find("cannot create the folder " + Path("a")),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { FreeBytes(Path("no")); }).find("cannot look at " + Path("no")),
            std::string::npos);
}

TEST_F(FolderTest, SourcesExpandToFilesInByteOrder) {
  for (const char* name : {"b.tar", "a.TAR", "c.idx"}) ReplaceFile(Path(name), "x");
  MakeFolders(Path("d.tar"));
  EXPECT_EQ(ExpandFiles(path(), ".tar"), (Names{Path("a.TAR"), Path("b.tar")}));
  EXPECT_EQ(ExpandFiles(path() + "/", ".tar"), (Names{Path("a.TAR"), Path("b.tar")}));
  EXPECT_EQ(ExpandFiles(Path("*.[ti]*"), ""), (Names{Path("b.tar"), Path("c.idx")}));
  EXPECT_EQ(ExpandFiles(Path("c.idx"), ".tar"), Names{Path("c.idx")});
  EXPECT_NE(ErrorOf([&] { ExpandFiles(path(), ".mdb"); }).find("no file in this folder ends in"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { ExpandFiles(Path("z*"), ""); }).find("no such file or folder"),
            std::string::npos);
}

TEST(ParentFolderTest, IsWhatStandsBeforeTheLastSlash) {
  EXPECT_EQ(ParentFolder("a/b"), "a");
  EXPECT_EQ(ParentFolder("b"), ".");
  EXPECT_EQ(ParentFolder("/b"), "/");
}

}  // namespace
}  // namespace gf

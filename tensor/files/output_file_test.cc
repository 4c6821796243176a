#include "tensor/files/output_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

bool IsNote(std::string_view start) { return start.starts_with("note "); }

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() {
    folder_ = fs::path(::testing::TempDir()) / "output_file";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  absl::Status Check(std::string_view name) const {
    return CheckOutputFile((folder_ / name).string(), "a note", IsNote);
  }
  std::string Put(std::string_view name, std::string_view text) const {
    const fs::path path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, NothingAndAnEmptyFileAndOneOfTheKindMayBeReplaced) {
  Put("empty", "");
  Put("note", "note 1");
  for (const char* name : {"none", "empty", "note"}) EXPECT_TRUE(Check(name).ok()) << name;
  EXPECT_FALSE(fs::exists(folder_ / "none"));
}

TEST_F(OutputFileTest, AFileOfAnotherKindStays) {
  const std::string path = Put("thesis", "Chapter 1");
  const absl::Status status = Check("thesis");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(path), HasSubstr("is not a note"),
                    HasSubstr("choose another name, or delete the file")));
  // Also where a link leads to it.
  fs::create_symlink("thesis", folder_ / "link");
  EXPECT_TRUE(absl::IsFailedPrecondition(Check("link")));
}

TEST_F(OutputFileTest, OnlyTheStartOfALongFileIsRead) {
  Put("long", "note " + std::string(3 * kMostOfAStart, 'x'));
  size_t seen = 0;
  EXPECT_TRUE(CheckOutputFile((folder_ / "long").string(), "a note", [&](std::string_view start) {
                seen = start.size();
                return true;
              }).ok());
  EXPECT_EQ(seen, 65536u);
}

TEST_F(OutputFileTest, APathThatCannotBeWrittenIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(Check("missing/note")));
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckOutputFile("/dev/null", "a note", IsNote)));
}

}  // namespace
}  // namespace dtnn

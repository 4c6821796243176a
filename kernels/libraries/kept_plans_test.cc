#include "kernels/libraries/kept_plans.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr char kKey[] = "conv2d/forward/n8_nchw_f32/t1/gpu:NVIDIA_H100-cudnn91900";
constexpr int kRevision = 3;

class KeptPlansTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<KeptPlans> Open() {
    return *KeptPlans::Open(folder_, [](std::string_view) {});
  }
  // The only file of the folder.
  std::string File() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      files.push_back(entry.path());
    }
    EXPECT_EQ(files.size(), 1);
    return files.front();
  }
  void Overwrite(const std::string& text) { std::ofstream(File(), std::ios::trunc) << text; }

  const std::string folder_ = ::testing::TempDir() + "kept_plans";
};

TEST_F(KeptPlansTest, WhatIsSavedIsThereInTheNextRun) {
  const std::string text = "{\"engine\": 6}\n# plan of another\n";
  EXPECT_EQ(Open()->Load(kKey, kRevision).status().code(), absl::StatusCode::kNotFound);
  ASSERT_EQ(Open()->Save(kKey, kRevision, "old"), absl::OkStatus());
  ASSERT_EQ(Open()->Save(kKey, kRevision, text), absl::OkStatus());
  EXPECT_EQ(*Open()->Load(kKey, kRevision), text);
  EXPECT_EQ(Open()->Load(std::string(kKey) + "1", kRevision).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(File(), HasSubstr("NVIDIA_H100-cudnn91900.plan"));
}

TEST_F(KeptPlansTest, FilesOfOthersAreRefused) {
  ASSERT_EQ(Open()->Save(kKey, kRevision, "text"), absl::OkStatus());
  std::filesystem::permissions(File(), std::filesystem::perms::group_write,
                               std::filesystem::perm_options::add);
  EXPECT_EQ(Open()->Load(kKey, kRevision).status().code(), absl::StatusCode::kPermissionDenied);
  // What is built anew replaces it.
  ASSERT_EQ(Open()->Save(kKey, kRevision, "new"), absl::OkStatus());
  EXPECT_EQ(*Open()->Load(kKey, kRevision), "new");
}

TEST_F(KeptPlansTest, FilesThatAreNoPlanOfTheKeyAreRefused) {
  ASSERT_EQ(Open()->Save(kKey, kRevision, "text"), absl::OkStatus());
  for (const std::string& text : {std::string(), std::string("text"), std::string("# plan 3 of "),
                                  "# plan 3 of " + std::string(kKey).substr(1) + "\ntext",
                                  "# plan 2 of " + std::string(kKey) + "\ntext"}) {
    Overwrite(text);
    const absl::Status refused = Open()->Load(kKey, kRevision).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(refused.message(), File() + ": is not a plan of revision " +
                                     std::to_string(kRevision) + " of " + std::string(kKey))
        << text;
  }
  std::filesystem::resize_file(File(), KeptPlans::kMostBytes + 1);
  EXPECT_EQ(Open()->Load(kKey, kRevision).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(KeptPlansTest, PlansOfAnotherRevisionAreReplaced) {
  ASSERT_EQ(Open()->Save(kKey, kRevision - 1, "old"), absl::OkStatus());
  EXPECT_EQ(Open()->Load(kKey, kRevision).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(Open()->Save(kKey, kRevision, "new"), absl::OkStatus());
  EXPECT_EQ(*Open()->Load(kKey, kRevision), "new");
  EXPECT_EQ(Open()->Load(kKey, kRevision - 1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(KeptPlansTest, FoldersThatOthersMayWriteToAreRefused) {
  using std::filesystem::perms;
  const auto open = [&] { return KeptPlans::Open(folder_, [](std::string_view) {}).status(); };
  const mode_t before = umask(0);
  EXPECT_EQ(open(), absl::OkStatus());
  umask(before);
  EXPECT_EQ(std::filesystem::status(folder_).permissions(), perms::owner_all);
  for (const perms writer : {perms::group_write, perms::others_write}) {
    std::filesystem::permissions(folder_, perms::owner_all | writer);
    EXPECT_EQ(open().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(open().message()), HasSubstr("kept_plans: other users may change"));
  }
  std::filesystem::permissions(folder_, perms::owner_all);
  EXPECT_EQ(open(), absl::OkStatus());
}

// Those of cuDNN have up to 90 KiB; larger ones have room too.
TEST_F(KeptPlansTest, LongPlansAreKeptUpToTheLimit) {
  const std::unique_ptr<KeptPlans> plans = Open();
  ASSERT_EQ(plans->Save(kKey, kRevision, ""), absl::OkStatus());
  const size_t header = std::filesystem::file_size(File());
  for (const size_t size : {size_t{90} << 10, size_t{3} << 20, (size_t{4} << 20) - header}) {
    const std::string text(size, char('a' + size % 26));
    ASSERT_EQ(plans->Save(kKey, kRevision, text), absl::OkStatus()) << size;
    EXPECT_EQ(*plans->Load(kKey, kRevision), text) << size;
  }
  EXPECT_THAT(
      std::string(
          plans->Save(kKey, kRevision, std::string((size_t{4} << 20) - header + 1, 'x')).message()),
      HasSubstr("bytes, expected at most 4194304"));
}

TEST_F(KeptPlansTest, WhatIsNotKept) {
  const std::unique_ptr<KeptPlans> plans = Open();
  EXPECT_FALSE(plans->Save(kKey, kRevision, std::string(KeptPlans::kMostBytes, 'x')).ok());
  EXPECT_FALSE(plans->Save("", kRevision, "text").ok());
  EXPECT_FALSE(plans->Save(std::string(241, 'x'), kRevision, "text").ok());
  EXPECT_FALSE(plans->Save("a\nb", kRevision, "text").ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  // A key leads to no other folder.
  ASSERT_EQ(plans->Save("../up", kRevision, "text"), absl::OkStatus());
  EXPECT_THAT(File(), HasSubstr("..-up.plan"));
}

TEST_F(KeptPlansTest, TheFolderMustTakeFiles) {
  const auto open = [](const std::string& folder) {
    return KeptPlans::Open(folder, [](std::string_view) {}).status();
  };
  EXPECT_THAT(std::string(open("/no/such/folder").message()), HasSubstr("/no/such/folder"));
  std::ofstream(folder_) << "a file";
  EXPECT_FALSE(open(folder_).ok());
}

}  // namespace
}  // namespace dtnn

#include "models/checkpoint/checkpoint_folder.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "tensor/files/access/folder_lock.h"
#include "tensor/files/atomic_file.h"
#include "tools/testing/descriptors.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::dtnn::testing::Values;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Graph Net(const char* name = "net") {
  GraphBuilder b(name, TensorFormat::kNHWC);
  b.Input({4, 4, 1}).Conv2d(2).Flatten().Fc(3).Softmax();
  return *b.Build();
}

// Which step of the next save fails or ends the process, from 0; none: -1.
int steps_until_fault = -1;
bool kill_at_fault = false;
int Fault(std::string_view) {
  if (steps_until_fault < 0 || steps_until_fault-- > 0) return 0;
  if (kill_at_fault) _exit(77);
  return ENOSPC;
}

class CheckpointFolderTest : public ::testing::Test {
 protected:
  CheckpointFolderTest() {
    path_ = fs::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(path_);
    steps_until_fault = -1;
    internal::SetFileFaultHookForTesting(Fault);
  }
  ~CheckpointFolderTest() override {
    internal::SetFileFaultHookForTesting(nullptr);
    fs::remove_all(path_);
  }

  // A store whose values tell how many steps were done.
  std::unique_ptr<ParameterStore> Store(int64_t steps) {
    auto store = *ParameterStore::Create(graph_, *device_, DType::kFloat32, uint64_t(steps));
    EXPECT_TRUE(store->AllocateForTraining(*device_, 1).ok());
    return store;
  }
  absl::StatusOr<CheckpointFolder::Saved> Save(CheckpointFolder& folder, int64_t steps) {
    RunState run = {.optimizer = "momentum"};
    run.training.steps_done = steps;
    return folder.Save(graph_, *Store(steps), *device_, run);
  }
  absl::StatusOr<CheckpointFolder::Latest> Newest(const CheckpointFolder& folder) {
    return folder.Newest(graph_, *Store(0), *device_, "momentum");
  }
  // The steps of the newest checkpoint, after making sure that its parameters are theirs.
  int64_t NewestSteps(const CheckpointFolder& folder) {
    const absl::StatusOr<CheckpointFolder::Latest> latest = Newest(folder);
    EXPECT_TRUE(latest.ok()) << latest.status();
    if (!latest.ok()) return -1;
    auto store = Store(0);
    EXPECT_TRUE(latest->checkpoint.Apply(*store, *device_).ok());
    const int64_t steps = latest->checkpoint.run().training.steps_done;
    EXPECT_EQ(Values(store->all_values()), Values(Store(steps)->all_values()));
    return steps;
  }
  // All but the lock.
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) names.insert(entry.path().filename());
    names.erase(".lock");
    return names;
  }
  void Truncate(const char* name) {
    fs::resize_file(path_ / name, fs::file_size(path_ / name) / 2);
  }

  const Graph graph_ = Net();
  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  fs::path path_;
};

TEST_F(CheckpointFolderTest, AFolderOfAFolderThatIsMissingIsAMistake) {
  CheckpointFolder folder((path_ / "none" / "checkpoints").string(), 3);
  EXPECT_EQ(folder.Prepare(/*resume=*/false).status().message(),
            (path_ / "none" / "checkpoints").string() +
                ": cannot create the folder for checkpoints: No such file or directory; make " +
                (path_ / "none").string() + " first, or correct the path");
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(CheckpointFolderTest, TheNewestStay) {
  CheckpointFolder folder(path_.string(), 3);
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  for (const int64_t steps : {8, 9, 10, 11, 100}) {
    const absl::StatusOr<CheckpointFolder::Saved> saved = Save(folder, steps);
    ASSERT_TRUE(saved.ok()) << saved.status();
    EXPECT_THAT(saved->warnings, IsEmpty());
    EXPECT_EQ(saved->path, path_ / ("checkpoint-" + std::to_string(steps) + ".npz"));
    EXPECT_EQ(NewestSteps(folder), steps);  // by number, not by spelling
  }
  EXPECT_THAT(Names(), ElementsAre("checkpoint-10.npz", "checkpoint-100.npz", "checkpoint-11.npz"));
  // Once more at the same step: it is replaced.
  ASSERT_TRUE(Save(folder, 100).ok());
  EXPECT_EQ(Names().size(), 3u);
}

TEST_F(CheckpointFolderTest, ASaveThatComesLateLeavesTheNewerAlone) {
  CheckpointFolder folder(path_.string(), 2);
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  for (const int64_t steps : {400, 500, 80, 90, 100}) ASSERT_TRUE(Save(folder, steps).ok());
  EXPECT_THAT(Names(), ElementsAre("checkpoint-100.npz", "checkpoint-400.npz", "checkpoint-500.npz",
                                   "checkpoint-90.npz"));
  EXPECT_EQ(NewestSteps(folder), 500);
  // The run's own next save clears it away.
  ASSERT_TRUE(Save(folder, 600).ok());
  EXPECT_THAT(Names(), ElementsAre("checkpoint-500.npz", "checkpoint-600.npz"));
}

TEST_F(CheckpointFolderTest, GivenUpAreTheNewerOnly) {
  CheckpointFolder folder(path_.string(), 9);
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  for (const int64_t steps : {1, 2, 3, 10}) ASSERT_TRUE(Save(folder, steps).ok());
  ASSERT_TRUE(folder.SetAsideAfter(2).ok());
  const std::set<std::string> expected = {"checkpoint-1.npz", "checkpoint-10.npz.given-up",
                                          "checkpoint-2.npz", "checkpoint-3.npz.given-up"};
  EXPECT_EQ(Names(), expected);
  EXPECT_EQ(NewestSteps(folder), 2);
  EXPECT_THAT(*folder.SetAsideAfter(2), IsEmpty());
  // What cannot be renamed ends a run before it writes beside it: the new name would be too long.
  const std::string longest = "checkpoint-" + std::string(239, '0') + "3.npz";
  std::ofstream(path_ / longest) << "x";
  EXPECT_THAT(std::string(folder.SetAsideAfter(2).status().message()),
              AllOf(HasSubstr(longest), HasSubstr("cannot rename")));
}

TEST_F(CheckpointFolderTest, WhatWasGivenUpBeforeStays) {
  CheckpointFolder folder(path_.string(), 9);
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  ASSERT_TRUE(Save(folder, 1).ok());
  std::ofstream(path_ / "checkpoint-2.npz.given-up") << "x";
  for (const std::string name : {"checkpoint-2.npz.given-up-2", "checkpoint-2.npz.given-up-3"}) {
    ASSERT_TRUE(Save(folder, 2).ok());
    EXPECT_THAT(*folder.SetAsideAfter(1),
                ElementsAre(EndsWith("; renamed to " + (path_ / name).string())));
    EXPECT_TRUE(fs::exists(path_ / name));
  }
  EXPECT_EQ(fs::file_size(path_ / "checkpoint-2.npz.given-up"), 1);
}

TEST_F(CheckpointFolderTest, OtherFilesAreLeftAlone) {
  fs::create_directories(path_ / "checkpoint-5.npz");  // a folder
  const std::set<std::string> others = {".checkpoint-7.npz",
                                        "notes.txt",
                                        "checkpoint-.npz",
                                        "checkpoint-1.npz.bak",
                                        "checkpoint-x.npz",
                                        "checkpoint--1.npz",
                                        "checkpoint-99999999999999999999.npz"};
  for (const std::string& name : others) std::ofstream(path_ / name) << "x";
  CheckpointFolder folder(path_.string(), 1);
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  EXPECT_EQ(Newest(folder).status().code(), absl::StatusCode::kNotFound);
  for (const int64_t steps : {1, 2, 3}) ASSERT_TRUE(Save(folder, steps).ok());
  std::set<std::string> expected = others;
  expected.insert({"checkpoint-3.npz", "checkpoint-5.npz"});
  EXPECT_EQ(Names(), expected);
  EXPECT_EQ(NewestSteps(folder), 3);
}

TEST_F(CheckpointFolderTest, WhetherThereIsAnythingToGoOnFromIsKnown) {
  CheckpointFolder folder(path_.native());
  EXPECT_FALSE(folder.HoldsAny()) << "there is no folder";
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  EXPECT_FALSE(folder.HoldsAny());
  const absl::StatusOr<CheckpointFolder::Saved> saved = Save(folder, 3);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_TRUE(folder.HoldsAny());
  fs::resize_file(saved->path, 100);
  EXPECT_FALSE(folder.HoldsAny());
}

TEST_F(CheckpointFolderTest, AFolderWithoutCheckpointsSaysWhatWasLookedFor) {
  CheckpointFolder folder(path_.string());
  EXPECT_THAT(std::string(Newest(folder).status().message()),
              AllOf(HasSubstr(path_.string()), HasSubstr("No such file")));
  ASSERT_TRUE(folder.Prepare(/*resume=*/true).ok());
  const absl::Status status = Newest(folder).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("looked for checkpoint-<steps>.npz"));
}

// Else a run that resumes would begin again.
TEST_F(CheckpointFolderTest, AFolderThatCannotBeReadIsNotOneWithoutCheckpoints) {
  fs::create_directories(path_);
  absl::Status status;
  {
    const testing::NoNewDescriptors none;
    status = CheckpointFolder(path_.string()).NewestPath().status();
  }
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith(path_.string() + ": cannot read the folder of checkpoints"),
                    HasSubstr("Too many open files")));
}

TEST_F(CheckpointFolderTest, DamagedFilesArePassedOverWithAWarning) {
  CheckpointFolder folder(path_.string());
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  ASSERT_TRUE(Save(folder, 1).ok());
  ASSERT_TRUE(Save(folder, 2).ok());
  Truncate("checkpoint-2.npz");
  EXPECT_EQ(NewestSteps(folder), 1);
  EXPECT_THAT(Newest(folder)->warnings,
              ElementsAre(AllOf(HasSubstr("checkpoint-2.npz"), HasSubstr("trying the previous"))));
  // The run continues from 1; later checkpoints are superseded.
  const absl::StatusOr<std::vector<std::string>> given_up = folder.SetAsideAfter(1);
  ASSERT_TRUE(given_up.ok()) << given_up.status();
  EXPECT_THAT(*given_up, ElementsAre(HasSubstr("checkpoint-2.npz.given-up")));
  EXPECT_THAT(Names(), ElementsAre("checkpoint-1.npz", "checkpoint-2.npz.given-up"));
  EXPECT_THAT(Newest(folder)->warnings, IsEmpty());
  Truncate("checkpoint-1.npz");
  const absl::Status status = Newest(folder).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("none of 1 checkpoints can be loaded"),
                                                   HasSubstr("checkpoint-1.npz")));
}

TEST_F(CheckpointFolderTest, AnotherRunsCheckpointIsNotPassedOver) {
  CheckpointFolder folder(path_.string());
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  ASSERT_TRUE(Save(folder, 1).ok());
  EXPECT_EQ(folder.Newest(graph_, *Store(0), *device_, "adam").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// A file is not damaged because there is no memory for it.
TEST_F(CheckpointFolderTest, WithoutMemoryNoOlderCheckpointIsTried) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more addresses than the limit of this test";
#endif
  GraphBuilder b("large", TensorFormat::kNHWC);  // 40 MB, which come from the system one by one
  b.Input({1, 1, 3200}).Flatten().Fc(3200).Softmax();
  const Graph large = *b.Build();
  const auto store = *ParameterStore::Create(large, *device_, DType::kFloat32, 1);
  CheckpointFolder folder(path_.string());
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  ASSERT_TRUE(folder.Save(large, *store, *device_, {.optimizer = "none"}).ok());
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit limit = {rlim_t(pages * getpagesize() + (10 << 20)), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const absl::Status status = folder.Newest(large, *store, *device_, "none").status();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

TEST_F(CheckpointFolderTest, ANewRunDoesNotWriteBesideAnOlderOne) {
  CheckpointFolder folder(path_.string());
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  ASSERT_TRUE(Save(folder, 7).ok());
  EXPECT_TRUE(folder.Prepare(/*resume=*/true).ok());
  const absl::Status status = folder.Prepare(/*resume=*/false).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("checkpoint-7.npz"), HasSubstr("Checkpointer::Resume")));
  std::ofstream(path_ / "file") << "x";
  EXPECT_THAT(
      std::string(CheckpointFolder((path_ / "file").string()).Prepare(true).status().message()),
      HasSubstr("cannot create the folder"));
}

TEST_F(CheckpointFolderTest, IsOfOneProcessUntilAllCopiesAreGone) {
  std::optional<CheckpointFolder> first(path_.string());
  EXPECT_THAT(*first->Prepare(/*resume=*/false), IsEmpty());
  EXPECT_THAT(*first->Prepare(/*resume=*/false), IsEmpty()) << "once more changes nothing";
  std::optional<CheckpointFolder> copy = first;
  first.reset();
  CheckpointFolder second(path_.string());
  std::ofstream(path_ / ".checkpoint-9.npz.1-0.tmp") << "of one that was killed";
  std::optional<AtomicFile> writing = *AtomicFile::Create((path_ / "checkpoint-8.npz").string());
  const absl::Status status = second.Prepare(/*resume=*/true).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(path_.string() + ": is in use by this process, "),
                    HasSubstr("choose another folder")));
  EXPECT_EQ(Names().size(), 2u) << "another's files are not touched";
  const auto goes_on = CheckpointFolder(path_.string()).Prepare(/*resume=*/true, /*goes_on=*/true);
  ASSERT_TRUE(goes_on.ok()) << goes_on.status();
  EXPECT_THAT(*goes_on,
              ElementsAre(AllOf(HasSubstr(path_.string() + ": is in use by this process, "),
                                HasSubstr("this run continues without it"))));
  EXPECT_THAT(Names(), ElementsAre(StartsWith(".checkpoint-8"))) << "it may wake and finish it";
  writing.reset();
  std::ofstream(path_ / ".checkpoint-9.npz.1-0.tmp") << "of one that was killed";
  copy.reset();
  EXPECT_TRUE(second.Prepare(/*resume=*/true).ok());
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(CheckpointFolderTest, WithoutLocksAWarningMustDo) {
  internal::SetLockFaultForTesting(ENOSYS);
  CheckpointFolder folder(path_.string());
  const auto warnings = folder.Prepare(/*resume=*/false);
  const auto again = folder.Prepare(/*resume=*/false);
  internal::SetLockFaultForTesting(0);
  ASSERT_TRUE(warnings.ok()) << warnings.status();
  EXPECT_THAT(*warnings, ElementsAre(HasSubstr("cannot be locked")));
  EXPECT_THAT(*again, IsEmpty()) << "once is enough";
  EXPECT_TRUE(Save(folder, 1).ok());
}

TEST_F(CheckpointFolderTest, AFolderThatTakesNoFilesShowsAtOnce) {
  CheckpointFolder folder("/proc/self");  // is there, and takes none, even from root
  const absl::Status status = folder.Prepare(/*resume=*/true).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("/proc/self: cannot write checkpoints there: "));
}

// Every write, fsync, close and rename fails once, as on a full disk.
TEST_F(CheckpointFolderTest, AnyStepMayFailAndTheOlderCheckpointsStay) {
  CheckpointFolder folder(path_.string(), 1);
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  ASSERT_TRUE(Save(folder, 1).ok());
  int failures = 0;
  for (;; ++failures) {
    ASSERT_LT(failures, 1000);
    steps_until_fault = failures;
    const absl::StatusOr<CheckpointFolder::Saved> saved = Save(folder, 2);
    if (saved.ok()) break;
    EXPECT_EQ(saved.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(saved.status().message()), HasSubstr("checkpoint-2.npz"));
    // Only when the very last step fails, syncing the folder, the new one is there beside the old.
    const int64_t newest = NewestSteps(folder);
    EXPECT_TRUE(Names().contains("checkpoint-1.npz"));
    EXPECT_EQ(Names().size(), newest == 2 ? 2u : 1u) << "a temporary file was left";
    fs::remove(path_ / "checkpoint-2.npz");
  }
  EXPECT_GT(failures, 10);  // a dozen members, and four steps more
  EXPECT_THAT(Names(), ElementsAre("checkpoint-2.npz"));
  EXPECT_EQ(NewestSteps(folder), 2);
}

// The process ends at every step of a save, without a chance to clear up.
TEST_F(CheckpointFolderTest, KilledAtAnyMomentTheNewestCheckpointLoads) {
  CheckpointFolder folder(path_.string(), 1);
  ASSERT_TRUE(folder.Prepare(/*resume=*/false).ok());
  ASSERT_TRUE(Save(folder, 1).ok());
  int kills = 0;
  for (;; ++kills) {
    ASSERT_LT(kills, 1000);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      kill_at_fault = true;
      steps_until_fault = kills;
      _exit(Save(folder, 2).ok() ? 0 : 1);
    }
    int result = 0;
    ASSERT_EQ(waitpid(child, &result, 0), child);
    ASSERT_TRUE(WIFEXITED(result));
    if (WEXITSTATUS(result) == 0) break;
    ASSERT_EQ(WEXITSTATUS(result), 77);
    const int64_t newest = NewestSteps(folder);
    EXPECT_TRUE(newest == 1 || newest == 2);
    // A run that continues removes what was left half written.
    ASSERT_TRUE(folder.Prepare(/*resume=*/true).ok());
    EXPECT_EQ(Names().size(), size_t(newest));
    fs::remove(path_ / "checkpoint-2.npz");
  }
  EXPECT_GT(kills, 10);
  EXPECT_EQ(NewestSteps(folder), 2);
  EXPECT_THAT(Names(), ElementsAre("checkpoint-2.npz"));
}

}  // namespace
}  // namespace dtnn

#include "tensor/machine/available_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMega = int64_t{1} << 20;
constexpr char kV2Mount[] = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

// A system of files as the kernel shows them.
class AvailableMemoryTest : public ::testing::Test {
 protected:
  AvailableMemoryTest() {
    root_ = fs::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    Put("/proc/meminfo", "MemTotal:  9999999 kB\nMemAvailable:   102400 kB\nSwapFree: 5 kB\n");
  }
  ~AvailableMemoryTest() override { fs::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) const {
    const fs::path file = root_.string() + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  // A group of version 2 with a limit ("max": none), what it uses, and file pages among that.
  void PutGroup(const std::string& folder, const std::string& limit, int64_t used,
                int64_t files = 0) const {
    Put(folder + "/memory.max", limit + "\n");
    Put(folder + "/memory.current", std::to_string(used) + "\n");
    Put(folder + "/memory.stat", "anon 7\nactive_file " + std::to_string(files / 2) +
                                     "\ninactive_file " + std::to_string(files - files / 2) + "\n");
  }
  AvailableMemory Find() const { return FindAvailableMemory(root_.string()); }

  fs::path root_;
};

TEST_F(AvailableMemoryTest, WithoutLimitsItIsTheMachines) {
  EXPECT_EQ(Find().bytes, 100 * kMega);
  EXPECT_EQ(Find().of, "this machine");
  Put("/proc/self/mountinfo", kV2Mount);
  Put("/proc/self/cgroup", "0::/job\n");
  PutGroup("/sys/fs/cgroup/job", "max", kMega);
  EXPECT_EQ(Find().bytes, 100 * kMega);
}

TEST_F(AvailableMemoryTest, ALimitOfVersion2LeavesWhatIsNotUsed) {
  Put("/proc/self/mountinfo", kV2Mount);
  Put("/proc/self/cgroup", "0::/job/step\n");
  PutGroup("/sys/fs/cgroup/job/step", std::to_string(50 * kMega), 30 * kMega, 10 * kMega);
  EXPECT_EQ(Find().bytes, 30 * kMega);
  EXPECT_EQ(Find().of, "the control group /sys/fs/cgroup/job/step");
  // The group above may have less left.
  PutGroup("/sys/fs/cgroup/job", std::to_string(50 * kMega), 49 * kMega);
  EXPECT_EQ(Find().bytes, kMega);
  EXPECT_EQ(Find().of, "the control group /sys/fs/cgroup/job");
  // A limit that was lowered below what is used.
  PutGroup("/sys/fs/cgroup", "5", kMega);
  EXPECT_EQ(Find().bytes, 0);
}

TEST_F(AvailableMemoryTest, ALimitOfVersion1Too) {
  Put("/proc/self/mountinfo",
      "30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  Put("/proc/self/cgroup", "9:cpu:/other\n4:hugetlb,memory:/job\n0::/\n");
  Put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  EXPECT_EQ(Find().bytes, 100 * kMega);
  Put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(20 * kMega));
  Put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(15 * kMega));
  Put("/sys/fs/cgroup/memory/job/memory.stat",
      "inactive_file 5\ntotal_inactive_file " + std::to_string(2 * kMega) + "\n");
  EXPECT_EQ(Find().bytes, 7 * kMega);
}

// The group has a long name outside, and is all that is mounted inside.
TEST_F(AvailableMemoryTest, AContainerSeesItsGroupAsTheRoot) {
  const std::string limit = std::to_string(8 * kMega);
  Put("/proc/self/mountinfo", "31 24 0:27 /docker/a1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  for (const char* group : {"/docker/a1", "/", "/../other", "/docker/a1234"}) {
    Put("/proc/self/cgroup", std::string("0::") + group + "\n");
    PutGroup("/sys/fs/cgroup", limit, 0);
    EXPECT_EQ(Find().bytes, 8 * kMega) << group;
  }
  Put("/proc/self/cgroup", "0::/docker/a1/inner\n");
  PutGroup("/sys/fs/cgroup/inner", std::to_string(3 * kMega), 0);
  EXPECT_EQ(Find().bytes, 3 * kMega);
}

TEST_F(AvailableMemoryTest, WhereNothingIsToldNothingLimits) {
  fs::remove(root_ / "proc/meminfo");
  EXPECT_EQ(Find().bytes, std::numeric_limits<int64_t>::max());
  Put("/proc/meminfo", "MemAvailable: lots kB\nMemAvailable:\n");
  for (const std::string& mounts :
       {std::string("- - -\n\n31 24 - cgroup2\n"), std::string(kV2Mount)}) {
    Put("/proc/self/mountinfo", mounts);
    for (const char* groups : {"", "x\n:::\n", "0::\n", "0::job\n", "0::/..\n"}) {
      Put("/proc/self/cgroup", groups);
      EXPECT_EQ(Find().bytes, std::numeric_limits<int64_t>::max()) << groups;
    }
  }
}

TEST_F(AvailableMemoryTest, AGroupOfWhichOneNumberIsMissingDoesNotLimit) {
  Put("/proc/self/mountinfo", kV2Mount);
  Put("/proc/self/cgroup", "0::/job\n");
  Put("/sys/fs/cgroup/job/memory.max", std::to_string(20 * kMega));
  EXPECT_EQ(Find().bytes, 100 * kMega);
  fs::remove(root_ / "sys/fs/cgroup/job/memory.max");
  Put("/sys/fs/cgroup/job/memory.current", std::to_string(20 * kMega));
  EXPECT_EQ(Find().bytes, 100 * kMega);
}

TEST_F(AvailableMemoryTest, ThisMachineHasSome) {
  EXPECT_GT(FindAvailableMemory().bytes, kMega);
  EXPECT_LT(FindAvailableMemory().bytes, int64_t{1} << 50);
}

}  // namespace
}  // namespace dtnn

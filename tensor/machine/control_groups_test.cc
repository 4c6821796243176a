#include "tensor/machine/control_groups.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

// A system of files as the kernel shows them; available_memory_test.cc asks for memory.
class ControlGroupsTest : public ::testing::Test {
 protected:
  ControlGroupsTest() {
    root_ = fs::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
  }
  ~ControlGroupsTest() override { fs::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) const {
    const fs::path file = root_.string() + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::optional<double> Quota() const { return ProcessorQuota(root_.string()); }

  fs::path root_;
};

TEST_F(ControlGroupsTest, WithoutGroupsThereIsNoQuota) { EXPECT_FALSE(Quota().has_value()); }

TEST_F(ControlGroupsTest, AQuotaOfVersion2) {
  Put("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Put("/proc/self/cgroup", "3::/other\n0::/job/step\n");
  const std::string group = "/sys/fs/cgroup/job/step/cpu.max";
  for (const char* const none : {"max 100000\n", "", "0 100000\n", "5\n", "5 0\n", "x y\n"}) {
    Put(group, none);
    EXPECT_FALSE(Quota().has_value()) << none;
  }
  Put(group, "50000 100000\n");
  EXPECT_EQ(Quota(), 0.5);
  Put("/sys/fs/cgroup/job/cpu.max", "25000 100000\n");  // the group above leaves less
  EXPECT_EQ(Quota(), 0.25);
  Put("/sys/fs/cgroup/job/cpu.max", "300000 100000\n");
  EXPECT_EQ(Quota(), 0.5);
}

// As a container shows it: the group's own files lie at the mount.
TEST_F(ControlGroupsTest, AQuotaOfAContainer) {
  Put("/proc/self/mountinfo", "30 24 0:26 /docker/a /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  Put("/proc/self/cgroup", "0::/\n");
  Put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(Quota(), 1.5);
}

TEST_F(ControlGroupsTest, AQuotaOfVersion1) {
  Put("/proc/self/mountinfo",
      "30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  Put("/proc/self/cgroup", "9:cpu,cpuacct:/job\n4:memory:/other\n0::/\n");
  const std::string group = "/sys/fs/cgroup/cpu,cpuacct/job";
  Put(group + "/cpu.cfs_period_us", "100000\n");
  Put(group + "/cpu.cfs_quota_us", "-1\n");
  EXPECT_FALSE(Quota().has_value());
  Put(group + "/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(Quota(), 0.5);
}

}  // namespace
}  // namespace dtnn

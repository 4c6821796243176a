#include "tensor/gpu/simulated/faults.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::gpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FaultsTest : public ::testing::Test {
 protected:
  FaultsTest() { RegisterMapping(mapping_.get(), "1000 bytes of the test"); }
  ~FaultsTest() override { UnregisterMapping(mapping_.get()); }

  std::unique_ptr<Mapping> mapping_ = *Mapping::Create(1000);
};
using FaultsDeathTest = FaultsTest;

TEST_F(FaultsDeathTest, TheHostIsToldWhatItTouched) {
  volatile std::byte* const host = mapping_->host();
  EXPECT_DEATH(host[1030] = std::byte{1},
               "the host writes byte 30 after the end of 1000 bytes of the test");
  mapping_->SetHostAccess(HostAccess::kNone);
  EXPECT_DEATH((void)host[7],
               "the host reads byte 7 of 1000 bytes of the test: host code has no access");
  SetReason(mapping_.get(), "a copy may still be under way");
  EXPECT_DEATH(host[7] = std::byte{1}, "the host writes byte 7 .*: a copy may still be under way");
}

TEST_F(FaultsDeathTest, OtherFaultsGoToTheHandlerBefore) {
  EXPECT_DEATH(*static_cast<volatile int*>(nullptr) = 1, Not(HasSubstr("simulated GPU")));
}

TEST_F(FaultsTest, AGuardComesOutWithTheFault) {
  FaultGuard guard;
  struct Argument {
    volatile std::byte* address;
    bool reached_end = false;
  };
  const auto write = [](void* argument) {
    Argument& at = *static_cast<Argument*>(argument);
    *at.address = std::byte{1};
    at.reached_end = true;
  };
  std::byte* const reader = mapping_->host() + mapping_->Distance(AccessMode::kRead);
  for (int round = 0; round < 3; ++round) {
    Argument fine = {mapping_->host()};
    EXPECT_EQ(guard.Run(write, &fine), "");
    EXPECT_TRUE(fine.reached_end);
    Argument at = {reader + 8};
    EXPECT_EQ(guard.Run(write, &at),
              "writes byte 8 of 1000 bytes of the test, which it did not declare");
    EXPECT_FALSE(at.reached_end);
    Argument elsewhere = {reinterpret_cast<std::byte*>(64)};
    EXPECT_THAT(guard.Run(write, &elsewhere), HasSubstr("writes memory that is not the GPU's"));
  }
}

}  // namespace
}  // namespace dtnn::gpu

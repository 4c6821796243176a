#include "tensor/gpu/simulated/mapping.h"

#include <cstring>

#include "gtest/gtest.h"

namespace dtnn::gpu {
namespace {

TEST(MappingTest, AllViewsShowTheSameBytes) {
  for (const size_t bytes : {1, 255, 256, 257, 4096, 4097, 100000}) {
    const auto mapping = *Mapping::Create(bytes);
    std::memset(mapping->host(), 1, bytes);
    mapping->host()[bytes - 1] = std::byte{7};
    std::byte* const writable = mapping->host() + mapping->Distance(AccessMode::kWrite);
    EXPECT_EQ(writable[bytes - 1], std::byte{7});
    writable[0] = std::byte{9};
    EXPECT_EQ(mapping->host()[0], std::byte{9});
    EXPECT_EQ(mapping->host()[mapping->Distance(AccessMode::kRead)], std::byte{9});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(mapping->host()) % 256, 0u);
  }
}

TEST(MappingTest, OffsetsAreThoseOfTheView) {
  const auto mapping = *Mapping::Create(1000);
  EXPECT_EQ(mapping->OffsetOf(mapping->host() + 999), 999);
  EXPECT_EQ(mapping->OffsetOf(mapping->host() - 3), -3);
  for (const AccessMode mode : {AccessMode::kRead, AccessMode::kWrite}) {
    EXPECT_EQ(mapping->OffsetOf(mapping->host() + mapping->Distance(mode) + 1024), 1024);
  }
}

TEST(MappingDeathTest, TheHostHasNoMoreAccessThanItIsGiven) {
  const auto mapping = *Mapping::Create(3 * 4096);
  volatile std::byte* const host = mapping->host();
  mapping->SetHostAccess(HostAccess::kRead);
  EXPECT_TRUE(host[5] == std::byte{0});
  EXPECT_DEATH(host[5] = std::byte{1}, "");
  mapping->SetHostAccess(HostAccess::kNone);
  EXPECT_DEATH((void)host[5], "");
  mapping->host()[mapping->Distance(AccessMode::kWrite)] = std::byte{1};  // the GPU still has it
  mapping->SetHostAccess(HostAccess::kWrite);
  EXPECT_TRUE(host[0] == std::byte{1});
}

TEST(MappingDeathTest, OnlyWholePagesAreTakenAway) {
  const auto mapping = *Mapping::Create(3 * 4096);
  volatile std::byte* const host = mapping->host();
  mapping->SetHostAccess(100, 2 * 4096 + 100, HostAccess::kNone);
  host[4095] = std::byte{1};
  host[2 * 4096] = std::byte{1};
  EXPECT_DEATH(host[4096] = std::byte{1}, "");
}

TEST(MappingDeathTest, NothingLiesAroundAView) {
  const auto mapping = *Mapping::Create(512);
  for (const std::ptrdiff_t view : {std::ptrdiff_t(0), mapping->Distance(AccessMode::kRead),
                                    mapping->Distance(AccessMode::kWrite)}) {
    EXPECT_DEATH((void)static_cast<volatile std::byte*>(mapping->host() + view)[512], "");
  }
  EXPECT_DEATH(static_cast<volatile std::byte*>(
                   mapping->host() + mapping->Distance(AccessMode::kRead))[0] = std::byte{1},
               "");
}

TEST(MappingTest, MoreThanTheAddressSpaceIsAnError) {
  EXPECT_EQ(Mapping::Create(SIZE_MAX / 2).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Mapping::Create(size_t{1} << 50).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace dtnn::gpu

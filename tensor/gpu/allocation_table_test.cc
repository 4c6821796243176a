#include "tensor/gpu/allocation_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::gpu {
namespace {

using ::testing::HasSubstr;

std::byte* At(size_t offset) { return reinterpret_cast<std::byte*>(0x10000 + offset); }

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(AllocationTableTest, FindsWhatHoldsTheBytes) {
  AllocationTable table;
  table.Add(At(0), 100, MemoryKind::kDevice, "first");
  table.Add(At(200), 100, MemoryKind::kPinned, "second");
  EXPECT_EQ(table.Find(At(0), 100)->what, "first");
  EXPECT_EQ(table.Find(At(299), 1)->what, "second");
  EXPECT_EQ(table.Find(At(100), 0)->what, "first");
  EXPECT_EQ(Message(table.Find(At(250), 51).status()),
            "51 bytes from byte 50 on do not fit in 100 bytes of pinned memory for \"second\"");
  for (const size_t outside : {100, 199, 300}) {
    EXPECT_THAT(Message(table.Find(At(outside), 1).status()), HasSubstr("lies in no device"));
  }
}

TEST(AllocationTableTest, RemembersWhatWasFreed) {
  AllocationTable table;
  table.Add(At(0), 100, MemoryKind::kDevice, "weights");
  EXPECT_EQ(table.Remove(At(0))->bytes, 100u);
  EXPECT_EQ(table.Remove(At(0)).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(table.Remove(At(0)).status()),
              HasSubstr("has been freed already; it was 100 bytes of device memory for "
                        "\"weights\""));
  EXPECT_THAT(Message(table.Find(At(50), 1).status()), HasSubstr("memory that has been freed"));
  table.Add(At(0), 10, MemoryKind::kDevice, "again");
  EXPECT_TRUE(table.Find(At(0), 10).ok());
  EXPECT_THAT(Message(table.Remove(At(4)).status()), HasSubstr("not the beginning"));
}

TEST(AllocationTableTest, ListsTheLargest) {
  AllocationTable table;
  EXPECT_EQ(table.Largest(MemoryKind::kDevice), "");
  for (size_t i = 1; i <= 4; ++i) table.Add(At(i * 1000), i, MemoryKind::kDevice, "x");
  table.Add(At(9000), 500, MemoryKind::kPinned, "y");
  EXPECT_EQ(table.Largest(MemoryKind::kDevice, 2),
            "  4 bytes of device memory for \"x\"\n  3 bytes of device memory for \"x\"\n"
            "  and 2 more\n");
  EXPECT_EQ(table.total_bytes(MemoryKind::kDevice), 10u);
  EXPECT_EQ(table.total_bytes(MemoryKind::kPinned), 500u);
}

}  // namespace
}  // namespace dtnn::gpu

#include "tensor/files/bytes/in_pieces.h"

#include <sys/mman.h>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// Room of more bytes than 32 bits can count, of which none is ever touched.
class InPiecesTest : public ::testing::Test {
 protected:
  static constexpr size_t kSize = (size_t{1} << 32) + 12345;
  InPiecesTest()
      : room_(mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  }
  ~InPiecesTest() override { munmap(room_, kSize); }
  std::span<std::byte> Room() { return {static_cast<std::byte*>(room_), kSize}; }

  void* const room_;
};

TEST_F(InPiecesTest, NoCallIsAskedForMoreThan32BitsCanCount) {
  ASSERT_NE(room_, MAP_FAILED);
  const std::byte* next = Room().data();
  EXPECT_EQ(FillInPieces(Room(),
                         [&](std::span<std::byte> piece) -> int64_t {
                           EXPECT_EQ(piece.data(), next);
                           EXPECT_LE(piece.size(), size_t{INT32_MAX});
                           next += piece.size();
                           return int64_t(piece.size());
                         }),
            1);
  EXPECT_EQ(next, Room().data() + kSize);
}

TEST_F(InPiecesTest, ShortCallsAreRepeatedAndTheEndAndErrorsAreReturned) {
  ASSERT_NE(room_, MAP_FAILED);
  size_t asked = 0;
  EXPECT_EQ(FillInPieces(Room().first(10),
                         [&](std::span<std::byte> piece) -> int64_t {
                           EXPECT_EQ(piece.size(), 10 - 3 * asked);
                           return ++asked == 3 ? -7 : 3;
                         }),
            -7);
  EXPECT_EQ(FillInPieces(Room(), [](std::span<std::byte>) -> int64_t { return 0; }), 0);
  EXPECT_EQ(FillInPieces({}, [](std::span<std::byte>) -> int64_t { return 0; }), 1);
}

}  // namespace
}  // namespace dtnn

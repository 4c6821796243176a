#include "comm/broadcast_text.h"

#include <cstdint>
#include <string>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

TEST(BroadcastTextTest, AllRanksHaveWhatOneSays) {
  for (const std::string& text :
       {std::string("a\0b", 3), std::string(), std::string(70'000, 'x')}) {
    EXPECT_EQ(absl::OkStatus(), RunRanks(3, [&](Communicator& communicator) -> absl::Status {
                const bool says = communicator.rank() == 1;
                DTNN_ASSIGN_OR_RETURN(const std::string heard,
                                      BroadcastText(communicator, says ? text : "another", 1));
                EXPECT_EQ(heard, text);
                return absl::OkStatus();
              }));
  }
}

// Before there is memory for them: also of numbers that are small in 32 bits.
TEST(BroadcastTextTest, MoreBytesThanATextHasAreRefused) {
  for (const int64_t bytes : {(int64_t{1} << 30) + 1, (int64_t{1} << 32) + 1, int64_t{-1}}) {
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) -> absl::Status {
      if (communicator.rank() == 1) return BroadcastText(communicator, "", 0).status();
      DTNN_ASSIGN_OR_RETURN(const Tensor size, Tensor::Zeros(DType::kInt64, Shape{1}));
      *size.data<int64_t>() = bytes;
      return communicator.Broadcast(size, 0);
    });
    EXPECT_EQ(status, absl::InvalidArgumentError("rank 0 has a text of " + std::to_string(bytes) +
                                                 " bytes for all ranks; at most 1073741824 are "
                                                 "shared"));
  }
}

}  // namespace
}  // namespace dtnn

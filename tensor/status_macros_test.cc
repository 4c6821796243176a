#include "tensor/status_macros.h"

#include <memory>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

absl::StatusOr<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return std::make_unique<int>(value / 2);
}

absl::StatusOr<int> Quarter(int value, int* evaluated) {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<int> half, Half((++*evaluated, value)));
  DTNN_ASSIGN_OR_RETURN(half, Half(*half));  // a second one in the scope, into an existing variable
  return *half;
}

absl::Status AllEven(int a, int b) {
  if (a > 100)
    DTNN_RETURN_IF_ERROR(absl::OutOfRangeError("large"));  // a single statement
  else
    DTNN_RETURN_IF_ERROR(Half(a).status());
  DTNN_RETURN_IF_ERROR(Half(b).status());
  return absl::OkStatus();
}

TEST(StatusMacrosTest, AssignMovesTheValueOrReturnsTheError) {
  int evaluated = 0;
  EXPECT_EQ(*Quarter(12, &evaluated), 3);
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(Quarter(6, &evaluated).status(), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(Quarter(7, &evaluated).status(), absl::InvalidArgumentError("odd"));
}

TEST(StatusMacrosTest, ReturnIfErrorReturnsTheFirstError) {
  EXPECT_EQ(AllEven(2, 4), absl::OkStatus());
  EXPECT_EQ(AllEven(2, 3), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(AllEven(102, 4), absl::OutOfRangeError("large"));
}

}  // namespace
}  // namespace dtnn

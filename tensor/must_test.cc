#include "tensor/must.h"

#include <memory>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(MustTest, GivesTheValue) {
  EXPECT_EQ(*Must(absl::StatusOr<std::unique_ptr<int>>(std::make_unique<int>(7))), 7);
  Must(absl::OkStatus());
}

TEST(MustDeathTest, EndsWithTheMessage) {
  EXPECT_EXIT(Must(absl::NotFoundError("no such file")), ::testing::ExitedWithCode(1),
              "^no such file\n$");
  EXPECT_EXIT(Must(absl::StatusOr<int>(absl::NotFoundError("none"))), ::testing::ExitedWithCode(1),
              "none");
}

}  // namespace
}  // namespace dtnn

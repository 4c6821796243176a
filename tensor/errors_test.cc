#include "tensor/errors.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ErrorsTest, PiecesOfAnyKindMakeTheMessage) {
  const std::string path = "a.npy";
  const std::string_view name = "y";
  const absl::Status status = InvalidArgument(path, ": ", name, " has ", 3, " values, not ", 2.5);
  EXPECT_EQ(status, absl::InvalidArgumentError("a.npy: y has 3 values, not 2.5"));
  EXPECT_EQ(NotFound(name), absl::NotFoundError("y"));
}

TEST(ErrorsTest, ContextKeepsCodeAndPayloads) {
  absl::Status status = absl::DataLossError("is cut");
  status.SetPayload("url", absl::Cord("payload"));
  const absl::Status told = WithContext(status, "file ", 7);
  EXPECT_TRUE(absl::IsDataLoss(told));
  EXPECT_EQ(told.message(), "file 7: is cut");
  EXPECT_EQ(told.GetPayload("url"), absl::Cord("payload"));
}

TEST(ErrorsTest, WhatWentWellNeedsNoContext) {
  EXPECT_EQ(WithContext(absl::OkStatus(), "file"), absl::OkStatus());
  EXPECT_EQ(WithContext(absl::StatusOr<int>(3), "file").value(), 3);
  EXPECT_EQ(WithContext(absl::StatusOr<int>(absl::DataLossError("is cut")), "file").status(),
            absl::DataLossError("file: is cut"));
}

TEST(ErrorsTest, QuotedTextIsPrintableAndShort) {
  EXPECT_EQ(Quoted("a\n\"b\""), "\"a\\n\\\"b\\\"\"");
  EXPECT_EQ(Quoted("abcd", 4), "\"abcd\"");
  EXPECT_EQ(Quoted("abcde", 4), "\"abcd...\"");
}

}  // namespace
}  // namespace dtnn

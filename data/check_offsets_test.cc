#include "data/check_offsets.h"

#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Input = Preprocessing::Input;

TEST(CheckOffsetsTest, AMeanOfBytesIsRefusedAfterByteShares) {
  const Normalization of_bytes = {{-0.5, -123.675, -1}, {1}}, of_shares = {{-1, -0.485, 9}, {1}};
  const std::string text =
      "takes 123.675 from values of byte / 255, which are at most 1; a mean of bytes is divided by "
      "255: 0.485";
  EXPECT_EQ(CheckOffsets(of_bytes, {Input::kBytes}).message(), text);
  EXPECT_EQ(CheckOffsets(of_bytes, {Input::kBgr}).message(), text);
  EXPECT_FALSE(CheckOffsets({{-1.001}, {1}}, {Input::kBytes}).ok());
  for (const Input input : {Input::kBytes, Input::kBgr}) {
    EXPECT_TRUE(CheckOffsets(of_shares, {input}).ok());
    EXPECT_TRUE(CheckOffsets(of_bytes, {input, {{0}, {255}}}).ok()) << "values are larger";
  }
  for (const Input input : {Input::kValues, Input::kBgrBytes}) {
    EXPECT_TRUE(CheckOffsets(of_bytes, {input}).ok());
  }
}

}  // namespace
}  // namespace dtnn

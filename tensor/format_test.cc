#include "tensor/format.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(TensorFormatTest, NamesAreParsedInAnyCase) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    EXPECT_EQ(ParseTensorFormat(Name(format)), format);
  }
  EXPECT_EQ(ParseTensorFormat("nchw"), TensorFormat::kNCHW);
  EXPECT_EQ(ParseTensorFormat("Nhwc"), TensorFormat::kNHWC);
}

TEST(TensorFormatTest, OtherWordsAreNoFormat) {
  for (std::string_view word : {"", "NHW", "NHWCC", "HWCN", "NCHW "}) {
    EXPECT_EQ(ParseTensorFormat(word), std::nullopt) << word;
  }
}

TEST(TensorFormatTest, ExtentsFollowTheFormat) {
  const ImageExtents extents = {.height = 5, .width = 7, .channels = 3};
  EXPECT_EQ(SampleShape(extents, TensorFormat::kNHWC), (Shape{5, 7, 3}));
  EXPECT_EQ(SampleShape(extents, TensorFormat::kNCHW), (Shape{3, 5, 7}));
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    EXPECT_EQ(ExtentsOf(SampleShape(extents, format), format), extents) << Name(format);
  }
}

}  // namespace
}  // namespace dtnn

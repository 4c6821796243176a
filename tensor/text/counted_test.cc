#include "tensor/text/counted.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(CountedTest, OneIsSingular) {
  EXPECT_EQ(Counted(0, "sample"), "0 samples");
  EXPECT_EQ(Counted(1, "sample"), "1 sample");
  EXPECT_EQ(Counted(2, "sample"), "2 samples");
  EXPECT_EQ(Counted(int64_t{1} << 40, "sample"), "1099511627776 samples");
}

TEST(CountedTest, OtherPlurals) {
  EXPECT_EQ(Counted(1, "class", "classes"), "1 class");
  EXPECT_EQ(Counted(0, "class", "classes"), "0 classes");
  EXPECT_EQ(Counted(3, "batch", "batches"), "3 batches");
}

}  // namespace
}  // namespace dtnn

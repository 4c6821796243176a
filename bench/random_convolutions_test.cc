#include "bench/random_convolutions.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(RandomConvolutionsTest, AreValidAndVariedAndFollowTheSeed) {
  const auto shapes = RandomConvolutions(300, 1), again = RandomConvolutions(300, 1);
  ASSERT_EQ(shapes.size(), 300u);
  std::set<std::string> names;
  int64_t depthwise = 0, strided = 0, single = 0, first = 0, pointwise = 0, dilated = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Conv2dSpec& spec = shapes[i].spec;
    EXPECT_TRUE(spec.Validate().ok()) << spec.ToString();
    EXPECT_EQ(shapes[i].name, again[i].name);
    names.insert(shapes[i].name);
    depthwise += spec.groups > 1;
    strided += spec.stride != Pair(1);
    single += spec.batch == 1;
    first += spec.channels <= 4;
    pointwise += spec.kernel == Pair(1);
    dilated += spec.kernel != Pair(1) && spec.dilation != Pair(1);
    // As in networks, where a dilation stands in for a stride.
    EXPECT_TRUE(spec.stride == Pair(1) || spec.dilation == Pair(1)) << spec.ToString();
  }
  EXPECT_LT(dilated, 50);
  EXPECT_GT(names.size(), 280u);
  for (const int64_t kind : {depthwise, strided, single, first, pointwise, dilated}) {
    EXPECT_GT(kind, 10);
  }
  EXPECT_NE(RandomConvolutions(1, 2)[0].name.substr(8), shapes[0].name.substr(8));
}

}  // namespace
}  // namespace dtnn

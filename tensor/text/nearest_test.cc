#include "tensor/text/nearest.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr std::string_view kModels[] = {"simplecnn", "simplemlp", "vgg16", "vgg11"};

TEST(EditDistanceTest, CountsEachKindOfSlipOnce) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", "abc"), 0u);
  EXPECT_EQ(EditDistance("abc", "axc"), 1u);
  EXPECT_EQ(EditDistance("abc", "ac"), 1u);
  EXPECT_EQ(EditDistance("ac", "abc"), 1u);
  EXPECT_EQ(EditDistance("true", "ture"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(NearestNameTest, FindsTheMistypedName) {
  EXPECT_EQ(NearestName("vgg61", kModels), "vgg16");
  EXPECT_EQ(NearestName("simplcnn", kModels), "simplecnn");
  EXPECT_EQ(NearestName("SimpleMLP", kModels), "simplemlp");
}

TEST(NearestNameTest, FindsTheOnlyNameThatBeginsSo) {
  EXPECT_EQ(NearestName("simplec", kModels), "simplecnn");
  EXPECT_EQ(NearestName("simp", kModels), std::nullopt);
}

TEST(NearestNameTest, OfEquallyNearNamesTakesOneOfTheSameLength) {
  constexpr std::string_view kNames[] = {"vgg1", "vgg16", "vgg66"};
  EXPECT_EQ(NearestName("vgg61", kNames), "vgg16");
}

TEST(NearestNameTest, KnowsAbbreviationsAndLastWords) {
  constexpr std::string_view kFlags[] = {"lr-schedulers", "learning-rate", "warm-up-epochs",
                                         "num-epochs", "batch_size"};
  EXPECT_EQ(NearestName("lr", kFlags), "learning-rate");
  EXPECT_EQ(NearestName("BS", kFlags), "batch_size");
  EXPECT_EQ(NearestName("epochs", kFlags), "num-epochs");
  EXPECT_EQ(NearestName("nepochs", kFlags), std::nullopt);
  EXPECT_EQ(NearestName("n", kFlags), "num-epochs") << "the only one that begins so";
  EXPECT_EQ(NearestName("w", kFlags), "warm-up-epochs");
  EXPECT_EQ(NearestName("l", kFlags), std::nullopt);
  constexpr std::string_view kFiles[] = {"weights-and-bias-filename", "weights-format"};
  EXPECT_EQ(NearestName("weights", kFiles), "weights-and-bias-filename");
  EXPECT_EQ(NearestName("weight-", kFiles), std::nullopt);
}

TEST(NearestNameTest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(NearestName("resnet50", kModels), std::nullopt);
  EXPECT_EQ(NearestName("", kModels), std::nullopt);
  EXPECT_EQ(NearestName(std::string(65, 'v'), kModels), std::nullopt);
  EXPECT_EQ(DidYouMean("resnet50", kModels), "");
  EXPECT_EQ(DidYouMean("vgg61", kModels), "; did you mean \"vgg16\"?");
}

}  // namespace
}  // namespace dtnn

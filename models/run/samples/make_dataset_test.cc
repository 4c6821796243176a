#include "models/run/samples/make_dataset.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

int64_t SideFor(const std::string& model, const std::optional<ImageExtents>& network = {}) {
  RunOptions options;
  options.data.name = "imagenet";
  options.network.name = model;
  return KnownSize(options, network)->sample.height;
}

// What the network takes decides, not what it is called.
TEST(MakeDatasetTest, ImagesAreAsLargeAsTheNetworkTakesThem) {
  EXPECT_EQ(SideFor("alexnet"), 227);
  EXPECT_EQ(SideFor("alexnet_imagenet"), 227);
  EXPECT_EQ(SideFor("vgg16_imagenet"), 224);
  EXPECT_EQ(SideFor("my_alexnet"), 224);
  EXPECT_EQ(SideFor("my_alexnet", ImageExtents{224, 224, 3}), 224);
  EXPECT_EQ(SideFor("mine", ImageExtents{227, 227, 3}), 227);
}

TEST(MakeDatasetTest, AsksForFilesThatNobodyNamed) {
  RunOptions options;
  options.data.name = "cifar10";
  EXPECT_EQ(MakeDataset(options).status().message(),
            "RunOptions::data.path: missing; where are the files of cifar10?");
}

}  // namespace
}  // namespace dtnn

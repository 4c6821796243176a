#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "data/testing/numbered_image.h"
#include "data/transforms/mixup.h"
#include "data/transforms/transform_list.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

// FNV-1a.
class Hash {
 public:
  void Add(int64_t value) {
    for (int i = 0; i < 8; ++i) hash_ = (hash_ ^ (uint64_t(value) >> 8 * i & 255)) * 0x100000001b3;
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

// What a list makes of 200 images whose values are those of byte / 255, to a thousandth.
uint64_t HashOf(const std::string& list) {
  Hash hash;
  const TransformList transforms = *ParseTransforms(list);
  for (int64_t place = 0; place < 200; ++place) {
    testing::TestImage<double> image({12, 17, 3}, TensorFormat::kNHWC,
                                     [](int64_t c, int64_t y, int64_t x) {
                                       return double((c * 91 + y * 17 + x * 5) % 256) / 255;
                                     });
    ApplyTransforms(transforms, /*seed=*/11, /*epoch=*/place % 3, place, image.image());
    for (const double value : image.values()) hash.Add(std::llround(value * 1000));
  }
  return hash.value();
}

// A run that resumes with the next version sees the images that it would have seen: which random
// numbers a transform takes is part of what a seed means.
TEST(SameDrawsTest, ASeedGivesTheImagesThatItAlwaysGave) {
  const std::pair<const char*, uint64_t> known[] = {
      {"flip:0.5", 0xe9722fec5bff28a5},
      {"vertical_flip:0.5", 0x3c2bc4acdc711809},
      {"crop:5:0.7", 0xbeb65ff8c9971af8},
      {"pad_crop:3", 0xa82b5cf4966877bd},
      {"cutout:4", 0x28d7a00660c4c06d},
      {"rotate:30", 0x21f09ebd56e5f419},
      {"resized_crop:0.3:1:0.5:2", 0x6473eda74ed65427},
      {"resized_crop:0.9:1:0.2:5", 0xa491cbf2922afc02},  // draws several times
      {"color_jitter:0.4:0.3:0.2", 0x5a29326c67379b11},
      {"crop:5,crop:5,crop:5", 0xcf7e030d9309f766},  // each with numbers of its own
      {"flip,crop:5", 0x8b1c843dbed4b62e},           // which share a stream
  };
  for (const auto& [list, hash] : known) EXPECT_EQ(HashOf(list), hash) << list;
}

TEST(SameDrawsTest, ASeedGivesTheSharesOfMixupThatItAlwaysGave) {
  Hash hash;
  for (int64_t place = 0; place < 500; ++place) {
    hash.Add(std::llround(MixupShare(/*alpha=*/0.6, /*seed=*/5, /*epoch=*/2, place) * 1e6));
  }
  EXPECT_EQ(hash.value(), 0xd17316b4bc93b048u);
}

}  // namespace
}  // namespace dtnn

#include "kernels/conv/gpu/library_key.h"

#include "gtest/gtest.h"

namespace dtnn::conv {
namespace {

Conv2dSpec Spec() {
  Conv2dSpec spec;
  spec.batch = 8, spec.height = spec.width = 6, spec.channels = 3, spec.filters = 4;
  spec.kernel = 3;
  return spec;
}

BestOfKey KeyOf(const Conv2dSpec& spec, bool accumulate = false,
                std::string_view gpu = "NVIDIA H100 80GB/HBM3=#") {
  return LibraryKey(gpu, "cudnn91900", spec, Direction::kBackwardData, accumulate);
}

TEST(LibraryKeyTest, NamesAreWordsOfAFile) {
  const BestOfKey key = KeyOf(Spec());
  EXPECT_EQ(key.machine, "gpu:NVIDIA_H100_80GB_HBM3__-cudnn91900");
  Decisions decisions;
  decisions.Add(key, {.chosen = "engine6.k2v1", .candidates = {{"engine6.k2v1", 1.5}}});
  const auto parsed = Decisions::Parse(decisions.ToString(), "file");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_NE(parsed->Find(key), nullptr);
  EXPECT_EQ(parsed->Find(key)->chosen, "engine6.k2v1");
}

TEST(LibraryKeyTest, WhatPlansDifferInTellsKeysApart) {
  const BestOfKey key = KeyOf(Spec());
  Conv2dSpec other = Spec();
  other.tf32 = true;
  EXPECT_NE(KeyOf(other), key);
  other = Spec();
  other.dtype = DType::kBfloat16;
  EXPECT_NE(KeyOf(other), key);
  EXPECT_NE(KeyOf(Spec(), /*accumulate=*/true), key);
  EXPECT_NE(KeyOf(Spec(), false, "NVIDIA A100"), key);
  EXPECT_NE(LibraryKey("NVIDIA H100", "cudnn91901", Spec(), Direction::kForward, false),
            LibraryKey("NVIDIA H100", "cudnn91900", Spec(), Direction::kForward, false));
}

}  // namespace
}  // namespace dtnn::conv

#include "data/transforms/transform_list.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "data/transforms/flip.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

// What a text is read as, or the error.
std::string Read(std::string_view text) {
  const absl::StatusOr<TransformList> list = ParseTransforms(text);
  return list.ok() ? absl::StrJoin(ToStrings(*list), ",") : std::string(list.status().message());
}

TEST(TransformListTest, ParametersMayBeLeftOut) {
  EXPECT_EQ(Read(""), "");
  EXPECT_EQ(Read("flip"), "flip:0.5");
  EXPECT_EQ(Read("flip:0.25,vertical_flip"), "flip:0.25,vertical_flip:0.5");
  EXPECT_EQ(Read(" pad_crop:2 , , cutout:3:zero,"), "pad_crop:2:zero,cutout:3:zero");
  EXPECT_EQ(Read("pad_crop:2:reflect,crop:9:1"), "pad_crop:2:reflect,crop:9:1");
  EXPECT_EQ(Read("rotate:7.5,color_jitter:0.1"), "rotate:7.5,color_jitter:0.1:0.4:0.4");
  EXPECT_EQ(Read("resized_crop:0.5"), "resized_crop:0.5:1:0.75:1.3333333333333333");
  EXPECT_EQ(Read("flip,flip"), "flip:0.5,flip:0.5");
}

TEST(TransformListTest, EveryKindReadsBackWhatItWrites) {
  for (const TransformKind* kind : TransformKinds()) {
    const std::string text = Read(kind->name);
    EXPECT_TRUE(text.starts_with(std::string(kind->name) + ":")) << text;
    EXPECT_EQ(Read(text), text);
    EXPECT_FALSE(kind->effect.empty());
    for (const TransformParameter& parameter : kind->parameters) {
      EXPECT_FALSE(parameter.meaning.empty()) << kind->name;
    }
  }
}

TEST(TransformListTest, EveryKindHasItsStream) {
  std::set<int> streams;
  std::set<std::string_view> names;
  for (const TransformKind* kind : TransformKinds()) {
    names.insert(kind->name);
    // Flip and crop share one, as they always have.
    EXPECT_TRUE(streams.insert(kind->stream).second || kind->name == "crop") << kind->name;
    EXPECT_LT(kind->stream, 100);
  }
  EXPECT_EQ(names.size(), TransformKinds().size());
  EXPECT_EQ(streams.size() + 1, names.size());
}

TEST(TransformListTest, ErrorsSayWhatIsExpected) {
  EXPECT_EQ(Read("flop"),
            "unknown transform \"flop\"; must be one of: flip, vertical_flip, crop, pad_crop, "
            "resized_crop, rotate, color_jitter, cutout; did you mean \"flip\"?");
  EXPECT_EQ(Read("flip:0.5:1"), "flip: takes up to 1 parameter, but \"flip:0.5:1\" gives 2");
  EXPECT_EQ(Read("flip:"), "flip: the probability must be a number, not \"\"");
  EXPECT_EQ(Read("flip:x"), "flip: the probability must be a number, not \"x\"");
  EXPECT_EQ(Read("flip:nan"), "flip: the probability must be a number from 0 to 1, not nan");
  EXPECT_EQ(Read("flip:2"), "flip: the probability must be a number from 0 to 1, not 2");
  EXPECT_EQ(Read("pad_crop:1.5"),
            "pad_crop: the padding must be a whole number from 1 to 65536, not 1.5");
  EXPECT_EQ(Read("pad_crop:4:mirror"),
            "pad_crop: the fill must be zero or reflect, not \"mirror\"");
  EXPECT_EQ(Read("rotate:181"), "rotate: the degrees must be a number from 0 to 180, not 181");
}

}  // namespace
}  // namespace dtnn

#include "data/preprocessing.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Input = Preprocessing::Input;

TEST(PreprocessingTest, ComesBackFromItsText) {
  for (const Input input : {Input::kBytes, Input::kBgr, Input::kValues, Input::kBgrBytes}) {
    for (const Normalization& by :
         {Normalization{}, Normalization{{-0.45}, {3.75}},
          Normalization{{-1.0 / 3, 2e-17, 0.1}, {1e300}}, Normalization{{0}, {1, 2, 3}}}) {
      const Preprocessing preprocessing = {input, by};
      const Preprocessing back = ParsePreprocessing(ToJson(preprocessing), 3).value();
      EXPECT_EQ(back.input, input);
      EXPECT_EQ(back.normalization.offset, by.offset);
      EXPECT_EQ(back.normalization.scale, by.scale);
    }
  }
  EXPECT_EQ(ToJson({Input::kBytes, {{-0.45}, {3.75}}}),
            R"({"x":"byte / 255","channels":"RGB","offset":[-0.45],"scale":[3.75]})");
}

TEST(PreprocessingTest, GeometryAndASecondNormalisationComeBackToo) {
  for (const bool of_values : {false, true}) {
    Preprocessing told = {.geometry = ImageGeometry{
                              {.square = !of_values, .crop = 0.1 + 0.2, .resize = 65}, of_values}};
    AddNormalization({{-0.5}, {1.0 / 3}}, told);
    EXPECT_FALSE(told.then.any());
    AddNormalization({{1, 2, 3}, {0.5}}, told);
    EXPECT_EQ(told.then, (Normalization{{1, 2, 3}, {0.5}}));
    AddNormalization({{-2}, {4}}, told);
    EXPECT_EQ(told.then.scale, (std::vector<double>{2, 2, 2}));
    EXPECT_TRUE(SamePreprocessing(told, {told.input, told.normalization, {{-3, -2, -1}, {2}}}, 3));
    const Preprocessing back = ParsePreprocessing(ToJson(told), 3).value();
    EXPECT_EQ(back.geometry, told.geometry);
    EXPECT_EQ(back.normalization, told.normalization);
    EXPECT_EQ(back.then, told.then);
  }
  EXPECT_EQ(ParsePreprocessing(ToJson({}), 3)->geometry, std::nullopt) << "not told";
  const ImageGeometry twice = {.geometry = {.crop = 0.75, .resize = 65},
                               .side = 64,
                               .then = {.square = true, .crop = 0.5, .resize = 16}};
  EXPECT_EQ(ParsePreprocessing(ToJson({.geometry = twice}), 3)->geometry, twice);
  // Compared as text where a model was quantized.
  const ImageGeometry shards = {.geometry = {.square = true, .crop = 0.5, .resize = 227},
                                .side = 224,
                                .then = {.resize = 64}};
  EXPECT_THAT(ToJson({.geometry = shards}),
              ::testing::EndsWith(R"("geometry":{"crop":0.5,"resize":227,"of":"bytes",)"
                                  R"("square":true,"then":{"crop":1.0,"resize":64,"side":224}}})"));
  EXPECT_EQ(Describe(Preprocessing{.geometry = twice}),
            "byte / 255, not normalised, 75 % of each side, resized to 65 x 65, of the 64 x 64 in "
            "the middle, the square in the middle, 50 % of each side, resized to 16 x 16");
  EXPECT_FALSE(
      SamePreprocessing({.geometry = twice}, {.geometry = ImageGeometry{twice.geometry}}, 3));
  const std::string text = R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
      {"square":false,"crop":1,"resize":8,"of":"bytes"}})";
  EXPECT_EQ(ParsePreprocessing(text, 3)->geometry, (ImageGeometry{{.resize = 8}}));
}

TEST(PreprocessingTest, WhatIsNotUnderstoodIsRefused) {
  for (const char* text : {"",
                           "{",
                           "[]",
                           "null",
                           "{}",
                           R"({"x":"byte / 255","channels":"RGB"})",
                           R"({"x":"byte / 255","channels":"HSV","offset":[],"scale":[]})",
                           R"({"x":"byte","channels":"RGB","offset":[],"scale":[]})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"then":1})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"then":
                               {"offset":[1],"scale":[0]}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":{}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":0,"resize":0,"of":"bytes"}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":1,"resize":1e30,"of":"bytes"}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":1,"resize":8,"of":"words"}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":1,"resize":8,"of":"bytes","then":1}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":1,"resize":8,"of":"bytes","then":{"crop":1,"resize":8}}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":1,"resize":8,"of":"bytes","then":
                                {"crop":1,"resize":8,"side":9}}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":1,"resize":8,"of":"bytes","then":
                                {"crop":1,"resize":8,"side":0}}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":1,"resize":8,"of":"bytes","then":
                                {"crop":0,"resize":8,"side":8}}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"square":1,"crop":1,"resize":8,"of":"bytes"}})",
                           R"({"x":"byte / 255","channels":"RGB","offset":[1],"scale":[]})",
                           R"({"x":"byte / 255","channels":"RGB","offset":[1],"scale":[0]})",
                           R"({"x":"byte / 255","channels":"RGB","offset":["1"],"scale":[1]})",
                           R"({"x":"byte / 255","channels":"RGB","offset":[1,"1"],"scale":[1]})",
                           R"({"x":"byte / 255","channels":"RGB","offset":1,"scale":[1]})",
                           R"({"x":1,"channels":"RGB","offset":[1],"scale":[1]})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":"1","resize":8,"of":"bytes"}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":1,"resize":8,"of":1}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"resize":8,"of":"bytes"}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":1,"of":"bytes"}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":
                               {"crop":1,"resize":8}})",
                           R"({"x":"byte","channels":"BGR","offset":[],"scale":[],"geometry":[]})",
                           R"({"x":"byte / 255","channels":"RGB","offset":[1,2],"scale":[1,2,3]})",
                           R"({"x":"byte / 255","channels":"RGB","offset":[0,0],"scale":[1,1]})"}) {
    EXPECT_EQ(ParsePreprocessing(text, 3).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  const std::string text =
      R"({"x":"byte / 255","channels":"BGR","offset":[1],"scale":[2],"more":"of later"})";
  EXPECT_TRUE(ParsePreprocessing(text, 3).ok());
  EXPECT_FALSE(ParsePreprocessing(text + std::string("\0}", 2), 3).ok());
}

// The memory for an image of that size would be asked for with every request.
TEST(PreprocessingTest, HugeImagesOfADataSetAreRefused) {
  const auto parse = [](int64_t resize, int64_t side) {
    const ImageGeometry image = {
        .geometry = {.resize = resize}, .side = side, .then = {.resize = 8}};
    return ParsePreprocessing(ToJson({.geometry = image}), 3).status();
  };
  EXPECT_TRUE(parse(4096, 4096).ok());
  EXPECT_EQ(parse(65536, 65536).message(),
            "the images of a data set that are cropped or resized once more are at most "
            "4096 x 4096, not 65536 x 65536");
  EXPECT_EQ(parse(4097, 8).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(parse(70000, 8).message(), "the side after a resize must be 1 to 65536, not 70000");
}

TEST(PreprocessingTest, DataSetsThatCutTheirOwnSamplesAreOpenedAsTheyAre) {
  const auto with = [](const Geometry& geometry) {
    return GeometryToOpenWith({.geometry = ImageGeometry{geometry}}, {224, 200, 3});
  };
  const Geometry whole = {.square = true, .crop = 0.75, .resize = 224}, cropped = {.crop = 0.5};
  EXPECT_EQ(with(whole), whole);
  EXPECT_EQ(with(cropped), cropped);
  EXPECT_EQ(with({.square = true, .crop = 0.75, .resize = 227}), std::nullopt);
  const ImageGeometry twice = {.geometry = {.resize = 227}, .side = 224, .then = cropped};
  EXPECT_EQ(GeometryToOpenWith({.geometry = twice}, {112, 112, 3}), cropped);
  EXPECT_EQ(ExtentsToOpenWith({.geometry = twice}, {112, 112, 3}), (ImageExtents{224, 224, 3}));
  EXPECT_EQ(GeometryToOpenWith({}, {224, 224, 3}), std::nullopt) << "not told";
  EXPECT_EQ(ExtentsToOpenWith({}, {227, 227, 3}), (ImageExtents{227, 227, 3})) << "not told";
}

TEST(PreprocessingTest, IsTheSameButForRounding) {
  const Preprocessing one = {Input::kBytes, {{-0.45}, {3.75}}};
  const Preprocessing three = {Input::kBytes, {{-0.45, -0.45, -0.45 + 1e-9}, {3.75}}};
  EXPECT_TRUE(SamePreprocessing(one, three, 3));
  EXPECT_FALSE(SamePreprocessing(one, {Input::kBytes, {{-0.45, -0.45, -0.46}, {3.75}}}, 3));
  EXPECT_FALSE(SamePreprocessing(one, {Input::kBytes, {{-0.45}, {3.7}}}, 3));
  EXPECT_FALSE(SamePreprocessing(one, {Input::kBgr, one.normalization}, 3));
  EXPECT_FALSE(SamePreprocessing(one, {}, 1));
  EXPECT_TRUE(SamePreprocessing({}, {Input::kBytes, {{0}, {1}}}, 1));
  // As older versions told of ImageNet's archives, and as this one does.
  EXPECT_TRUE(SamePreprocessing({Input::kBgr, {{-103.939 / 255}, {255}}},
                                {Input::kBgrBytes, {{-103.939}, {1}}}, 3));
  EXPECT_FALSE(SamePreprocessing({Input::kBgr, {}}, {Input::kBgrBytes, {}}, 3));
  EXPECT_TRUE(
      SamePreprocessing({Input::kBytes, {{1}, {2}}, {{3}, {4}}}, {Input::kBytes, {{2.5}, {8}}}, 3));
  const auto resized = [](int64_t side) {
    return Preprocessing{.geometry = ImageGeometry{{.resize = side}}};
  };
  EXPECT_TRUE(SamePreprocessing(resized(8), {}, 3)) << "one does not tell";
  EXPECT_FALSE(SamePreprocessing(resized(8), resized(9), 3));
}

TEST(PreprocessingTest, IsDescribedForPeople) {
  EXPECT_EQ(Describe({}), "byte / 255, not normalised");
  EXPECT_EQ(Describe({Input::kBgr, {{-0.5, -0.25}, {2}}}),
            "byte / 255 as blue, green, red, offset -0.5/-0.25, scale 2");
  EXPECT_EQ(Describe({Input::kBgrBytes,
                      {{-1}, {1}},
                      {{0}, {3}},
                      ImageGeometry{{.crop = 0.875, .resize = 24}}}),
            "byte as blue, green, red, offset -1, scale 1, then offset 0, scale 3, 87.5 % of each "
            "side, resized to 24 x 24");
  EXPECT_EQ(Describe({.geometry = ImageGeometry{{.square = true}}}),
            "byte / 255, not normalised, the square in the middle");
  EXPECT_EQ(Describe({.geometry = ImageGeometry{{.resize = 1}}}),
            "byte / 255, not normalised, resized to 1 x 1");
}

}  // namespace
}  // namespace dtnn

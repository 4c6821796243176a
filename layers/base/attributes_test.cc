#include "layers/base/attributes.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

std::optional<int> ParseDigit(std::string_view word) {
  if (word == "one") return 1;
  return std::nullopt;
}

TEST(AttributeReaderTest, ReadsEveryKind) {
  const Attributes attributes = {{"count", int64_t{3}},        {"rate", 0.5},
                                 {"whole", int64_t{2}},        {"on", int64_t{1}},
                                 {"off", int64_t{0}},          {"size", PairAttribute({4, 5})},
                                 {"digit", std::string("one")}};
  AttributeReader read(attributes);
  EXPECT_EQ(read.Int("count"), 3);
  EXPECT_EQ(read.Real("rate"), 0.5);
  EXPECT_EQ(read.Real("whole"), 2);
  EXPECT_TRUE(read.Switch("on"));
  EXPECT_FALSE(read.Switch("off"));
  EXPECT_EQ(read.TwoInts("size"), Pair(4, 5));
  EXPECT_EQ(read.Word("digit", ParseDigit), 1);
  EXPECT_TRUE(read.Done().ok()) << read.Done();
}

TEST(AttributeReaderTest, MistakesNameTheAttribute) {
  const auto mistake = [](const Attributes& attributes, void (*use)(AttributeReader&)) {
    AttributeReader read(attributes);
    use(read);
    return std::string(read.Done().message());
  };
  EXPECT_EQ(mistake({}, [](AttributeReader& read) { read.Int("n"); }),
            "attribute \"n\" is missing");
  EXPECT_EQ(mistake({{"n", 0.5}}, [](AttributeReader& read) { read.Int("n"); }),
            "attribute \"n\" is 0.5; expected a whole number");
  EXPECT_EQ(mistake({{"n", std::string("x")}}, [](AttributeReader& read) { read.Real("n"); }),
            "attribute \"n\" is \"x\"; expected a number");
  EXPECT_EQ(mistake({{"n", int64_t{2}}}, [](AttributeReader& read) { read.Switch("n"); }),
            "attribute \"n\" is 2; expected 0 or 1");
  EXPECT_EQ(mistake({{"n", std::vector<int64_t>{1, 2, 3}}},
                    [](AttributeReader& read) { read.TwoInts("n"); }),
            "attribute \"n\" is [1, 2, 3]; expected two whole numbers, vertical and horizontal");
  EXPECT_EQ(mistake({{"n", std::string("two")}},
                    [](AttributeReader& read) { read.Word("n", ParseDigit); }),
            "attribute \"n\" is \"two\", a word that this version does not know");
  EXPECT_EQ(mistake({{"n", int64_t{1}}}, [](AttributeReader&) {}),
            "attribute \"n\" is not one that this layer has");
  EXPECT_EQ(
      mistake({{"n", int64_t{1}}, {"n", int64_t{1}}}, [](AttributeReader& read) { read.Int("n"); }),
      "attribute \"n\" is given twice");
}

}  // namespace
}  // namespace dtnn

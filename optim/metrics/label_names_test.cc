#include "optim/metrics/label_names.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Names = std::vector<std::string>;

TEST(LabelNamesTest, NumbersStandForNamesThatAreNotKnown) {
  const Names names = {"cat", "dog"};
  EXPECT_EQ(LabelNames(2, names), names);
  EXPECT_EQ(LabelNames(2, {}), (Names{"0", "1"}));
  EXPECT_EQ(LabelNames(3, names), (Names{"0", "1", "2"}));
  const Names odd = {"a\nb", std::string(500, 'x')};
  EXPECT_EQ(LabelNames(2, odd)[0].find('\n'), std::string::npos);
  EXPECT_LT(LabelNames(2, odd)[1].size(), 50u);
}

TEST(LabelNamesTest, ColumnsAreThoseOfATerminal) {
  Names texts = {"Bär", "katze", "1"};
  AlignRight(texts, 3);
  EXPECT_EQ(texts, (Names{"  Bär", "katze", "    1"}));
  AlignRight(texts, 6);
  EXPECT_EQ(texts, (Names{"   Bär", " katze", "     1"}));
  texts = {"Maß", "katze"};  // the last byte of a character may be any above 0x7f and below 0xc0
  AlignRight(texts, 1);
  EXPECT_EQ(texts, (Names{"  Maß", "katze"}));
  texts = {"Bäär", "1"};  // the widest has more bytes than columns
  AlignRight(texts, 1);
  EXPECT_EQ(texts, (Names{"Bäär", "   1"}));
}

}  // namespace
}  // namespace dtnn

#include "models/observe/report/charts/html.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/testing/page_checker.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckedPage;
using ::dtnn::testing::CheckFragment;
using ::testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(HtmlTest, HostileTextsStayTexts) {
  const std::string hostile = "</td><script>alert(1)</script>\"' &amp; \xff\x01\n\xc3\xa9";
  EXPECT_EQ(HtmlText(hostile),
            "&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39; &amp;amp; \\xff\\x01\\n"
            "\xc3\xa9");
  const CheckedPage page = CheckFragment("<p title=\"" + HtmlText(hostile) + "\"/>");
  EXPECT_THAT(page.problems, IsEmpty());
}

TEST(HtmlTest, NumbersAreRoundedForPeopleAndWholeAsData) {
  EXPECT_EQ(HtmlNumber(0.1234567890123), "<data value=\"0.1234567890123\">0.1235</data>");
  EXPECT_EQ(HtmlNumber(kNaN), "-");
  EXPECT_EQ(RoundNumber(0), "0");
  EXPECT_EQ(RoundNumber(-1234.5), "-1234");
  EXPECT_EQ(RoundNumber(12345), "12.35k");
  EXPECT_EQ(RoundNumber(2.5e9), "2.5G");
  EXPECT_EQ(RoundNumber(1.5e-7), "1.50e-07");
  EXPECT_EQ(RoundNumber(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(RoundSeconds(7500), "2 h 5 min");
  EXPECT_EQ(RoundSeconds(150), "2.5 min");
  EXPECT_EQ(RoundSeconds(1.25), "1.25 s");
  EXPECT_EQ(RoundSeconds(0.0032), "3.2 ms");
  EXPECT_EQ(RoundSeconds(kNaN), "-");
}

TEST(HtmlTest, TablesHaveHeadsAndNames) {
  const std::string html = FoldedTable(
      "a & b", {.caption = "c", .columns = {"x", "<y>"}, .rows = {{"1", HtmlNumber(0.5)}}});
  const CheckedPage page = CheckFragment(html);
  EXPECT_THAT(page.problems, IsEmpty()) << html;
  EXPECT_EQ(page.root.All("summary")[0]->text, "a & b");
  EXPECT_EQ(page.root.All("th")[1]->text, "<y>");
  EXPECT_EQ(NumbersOf(*page.root.All("table")[0]), (std::vector<std::vector<double>>{{1, 0.5}}));
}

}  // namespace
}  // namespace dtnn

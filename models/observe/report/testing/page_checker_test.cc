#include "models/observe/report/testing/page_checker.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PageCheckerTest, GoodPagesHaveNoProblems) {
  const CheckedPage page = CheckFragment(
      "<p>a &lt; b</p><img alt=\"x\" src=\"data:image/png;base64,AA==\"/>\n<table><thead><tr><th "
      "scope=\"col\">n</th></tr></thead><tbody><tr><td><data value=\"0.125\">0.1</data></td></tr>"
      "<tr><td>7</td></tr></tbody></table>");
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_EQ(page.root.All("p")[0]->text, "a < b");
  EXPECT_EQ(NumbersOf(*page.root.All("table")[0]),
            (std::vector<std::vector<double>>{{0.125}, {7}}));
}

TEST(PageCheckerTest, EachMistakeIsFound) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"<p>", "not closed"},
      {"<p><b></p></b>", "closes what is not open"},
      {"</p>", "closes what is not open"},
      {"<p a=b></p>", "quoted"},
      {"<p a=\"1\" a=\"2\"></p>", "twice"},
      {"<p", "does not end"},
      {"a & b", "entity"},
      {"&nbsp;", "entity"},
      {"a > b", "escaped"},
      {"a\x01", "escaped"},
      {"\xff", "UTF-8"},
      {"<p id=\"a\"/><p id=\"a\"/>", "id a twice"},
      {"<p aria-labelledby=\"b\"/>", "no element has the id b"},
      {"<script>1</script>", "<script>"},
      {"<p onclick=\"x\"/>", "onclick"},
      {"<img alt=\"a\" src=\"http://x/y.png\"/>", "src of http"},
      {"<style>a{background:url(x)}</style>", "loads"},
      {"<img src=\"data:image/png;base64,\"/>", "without alt"},
      {"<svg role=\"img\"><desc>a</desc></svg>", "without title"},
      {"<svg role=\"img\"><title>a</title></svg>", "description"},
      {"<th>a</th>", "scope"},
      {"<table><tr><td/></tr></table>", "head"},
      {"<table><thead><tr><td/></tr></thead><tr><td/><td/></tr></table>", "other length"},
  };
  for (const auto& [html, problem] : mistakes) {
    EXPECT_THAT(CheckFragment(html).problems, Contains(HasSubstr(problem))) << html;
  }
  EXPECT_THAT(CheckPage("<p/>").problems, Contains(HasSubstr("doctype")));
  EXPECT_THAT(CheckPage("<!DOCTYPE html><p/>").problems, Contains(HasSubstr("language")));
}

}  // namespace
}  // namespace dtnn::testing

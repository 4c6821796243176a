// What the pictures draw is what they were given: read back from the paths and rectangles.

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/charts/bar_chart.h"
#include "models/observe/report/charts/line_chart.h"
#include "models/observe/report/testing/page_checker.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckedPage;
using ::dtnn::testing::CheckFragment;
using ::dtnn::testing::Element;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Point {
  char kind;  // M or L
  double x, y;
};

std::vector<Point> PointsOf(const std::string& path) {
  std::vector<Point> points;
  for (size_t at = 0; at < path.size();) {
    size_t end = path.find_first_of("MLHV", at + 1);
    if (end == path.npos) end = path.size();
    const std::vector<std::string> numbers = absl::StrSplit(path.substr(at + 1, end - at - 1), ' ');
    Point& point = points.emplace_back(Point{path[at], 0, 0});
    EXPECT_EQ(numbers.size(), 2u) << path;
    EXPECT_TRUE(absl::SimpleAtod(numbers[0], &point.x)) << path;
    EXPECT_TRUE(absl::SimpleAtod(numbers[1], &point.y)) << path;
    at = end;
  }
  return points;
}

// The lines of the data: legends have relative paths ("h24").
std::vector<std::vector<Point>> LinesOf(const CheckedPage& page) {
  std::vector<std::vector<Point>> lines;
  for (const Element* path : page.root.All("path")) {
    const std::string d = path->Attribute("d");
    if (path->Attribute("class").starts_with("line") && d.find('h') == d.npos) {
      lines.push_back(PointsOf(d));
    }
  }
  return lines;
}

// The value that a height stands for, from two lines of the grid and the numbers beside them.
struct Scale {
  double y0, value0, y1, value1;
  double ValueAt(double y) const { return value0 + (y - y0) / (y1 - y0) * (value1 - value0); }
};

Scale ScaleOf(const CheckedPage& page) {
  std::vector<std::pair<double, double>> known;
  for (const Element* text : page.root.All("text")) {
    if (text->Attribute("text-anchor") != "end" || text->Attribute("x") != "50") continue;
    double y = 0, value = 0;
    EXPECT_TRUE(absl::SimpleAtod(text->Attribute("y"), &y));
    EXPECT_TRUE(absl::SimpleAtod(text->text, &value)) << text->text;
    known.emplace_back(y - 4, value);
  }
  EXPECT_GE(known.size(), 2u);
  return {known.front().first, known.front().second, known.back().first, known.back().second};
}

double NumberOf(const Element& element, const std::string& key) {
  double value = kNaN;
  EXPECT_TRUE(absl::SimpleAtod(element.Attribute(key), &value)) << key;
  return value;
}

// Texts begin, or end, inside a picture; bars and markers are inside it as a whole.
void CheckInside(const SvgPicture& picture) {
  const CheckedPage page = CheckFragment(FormatSvg(picture));
  for (const Element* text : page.root.All("text")) {
    const double x = NumberOf(*text, "x"), y = NumberOf(*text, "y");
    const std::string anchor = text->Attribute("text-anchor");
    EXPECT_TRUE(x >= 0 && x <= picture.width) << text->text << " at " << x;
    EXPECT_TRUE(anchor != "end" || x > 20) << text->text << " ends at " << x;
    EXPECT_TRUE(anchor != "start" || x < picture.width - 20) << text->text << " begins at " << x;
    EXPECT_TRUE(y > 8 && y <= picture.height) << text->text << " at height " << y;
  }
  for (const Element* bar : page.root.All("rect")) {
    EXPECT_LE(NumberOf(*bar, "x") + NumberOf(*bar, "width"), picture.width);
    EXPECT_LE(NumberOf(*bar, "y") + NumberOf(*bar, "height"), picture.height);
  }
  for (const Element* marker : page.root.All("circle")) {
    EXPECT_LE(NumberOf(*marker, "cx"), picture.width);
    EXPECT_LE(NumberOf(*marker, "cy"), picture.height);
  }
}

// The places of texts with this anchor, in their order.
std::vector<std::pair<double, double>> PlacesOfTexts(const SvgPicture& picture,
                                                     const std::string& anchor) {
  const CheckedPage page = CheckFragment(FormatSvg(picture));
  std::vector<std::pair<double, double>> places;
  for (const Element* text : page.root.All("text")) {
    if (text->Attribute("text-anchor") != anchor) continue;
    places.emplace_back(NumberOf(*text, "x"), NumberOf(*text, "y"));
  }
  return places;
}

TEST(LineChartTest, WithoutValuesItSaysSoInItsMiddle) {
  for (const LineChart& chart :
       {LineChart{.id = "a", .title = "t"},
        LineChart{.id = "a", .title = "t", .series = {{"s", {1, 2}, {kNaN, kNaN}}}}}) {
    const SvgPicture picture = DrawLines(chart);
    const CheckedPage page = CheckFragment(FormatSvg(picture));
    ASSERT_EQ(page.root.All("text").size(), 1u);
    EXPECT_EQ(page.root.All("text")[0]->text, "no values yet");
    const auto places = PlacesOfTexts(picture, "middle");
    ASSERT_EQ(places.size(), 1u);
    EXPECT_EQ(places[0].first, picture.width / 2);
    EXPECT_EQ(picture.description, "There are no values yet.");
    CheckInside(picture);
  }
}

TEST(LineChartTest, AllOfItIsInsideAndNamesStandBelowOneAnother) {
  LineChart chart = {.id = "a", .title = "t"};
  for (int i = 0; i < 3; ++i) chart.series.push_back({StrCat("run ", i), {1, 9}, {-3.0, i + 2.0}});
  const SvgPicture picture = DrawLines(chart);
  CheckInside(picture);
  const auto names = PlacesOfTexts(picture, "start");
  ASSERT_EQ(names.size(), 3u);
  EXPECT_GT(names[1].second, names[0].second + 10);
  EXPECT_GT(names[2].second, names[1].second + 10);
  EXPECT_EQ(names[2].first, names[0].first);
  chart.series.resize(1);
  EXPECT_THAT(PlacesOfTexts(DrawLines(chart), "start"), IsEmpty()) << "the title says what it is";
}

TEST(LineChartTest, PointsStandWhereTheirNumbersAre) {
  const std::vector<double> values = {2.3, 0.9, kNaN, 0.45, 0.4625};
  const SvgPicture picture =
      DrawLines({.id = "a", .title = "loss", .series = {{"training", {1, 2, 3, 4, 5}, values}}});
  const CheckedPage page = CheckFragment(FormatSvg(picture));
  ASSERT_THAT(page.problems, IsEmpty());
  const std::vector<std::vector<Point>> lines = LinesOf(page);
  ASSERT_EQ(lines.size(), 1u);
  ASSERT_EQ(lines[0].size(), 4u);
  const Scale scale = ScaleOf(page);
  const size_t drawn[] = {0, 1, 3, 4};
  const double unit = std::abs(scale.value1 - scale.value0) / std::abs(scale.y1 - scale.y0);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(scale.ValueAt(lines[0][i].y), values[drawn[i]], 0.02 * unit) << i;
    EXPECT_EQ(lines[0][i].kind, i == 0 || i == 2 ? 'M' : 'L') << "NaN leaves a gap";
  }
  EXPECT_NEAR(lines[0][3].x - lines[0][2].x, lines[0][1].x - lines[0][0].x, 0.02);
  EXPECT_EQ(page.root.All("circle").size(), 4u);
  EXPECT_EQ(page.root.All("circle")[1]->text, "training, epoch 2: 0.9");
  EXPECT_EQ(page.root.All("desc")[0]->text,
            "training: from 2.3 at epoch 1 to 0.4625 at epoch 5; lowest 0.45 at epoch 4, highest "
            "2.3 at epoch 1. ");
}

TEST(LineChartTest, OfManyPointsTheExtremesStay) {
  LineSeries series = {.name = "x"};
  for (int i = 0; i < 100'000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i == 54'321 ? 1000 : i == 77'777 ? -1000 : std::sin(i));
  }
  const CheckedPage page = CheckFragment(FormatSvg(DrawLines({.id = "a", .series = {series}})));
  const std::vector<Point> line = LinesOf(page).at(0);
  EXPECT_LE(line.size(), 402u);
  const Scale scale = ScaleOf(page);
  double low = 0, high = 0;
  for (const Point& point : line) {
    low = std::min(low, scale.ValueAt(point.y));
    high = std::max(high, scale.ValueAt(point.y));
  }
  EXPECT_NEAR(low, -1000, 1);
  EXPECT_NEAR(high, 1000, 1);
}

TEST(LineChartTest, AnyNumbersMakeAPicture) {
  const double inf = std::numeric_limits<double>::infinity(),
               most = std::numeric_limits<double>::max();
  for (const std::vector<double>& values : {std::vector<double>{},
                                            {kNaN, kNaN},
                                            {inf},
                                            {5},
                                            {5, 5, 5},
                                            {0, 0},
                                            {most, -most},
                                            {1e-310, 2e-310},
                                            {-inf, 1, inf},
                                            {1e300, 1e-300}}) {
    std::vector<double> x(values.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = double(i + 1);
    const std::string svg =
        FormatSvg(DrawLines({.id = "a", .title = "t", .series = {{"<&\"", x, values}}}));
    EXPECT_THAT(CheckFragment(svg).problems, IsEmpty()) << svg;
    EXPECT_EQ(svg.find("nan"), svg.npos) << svg;
    EXPECT_EQ(svg.find("=\"inf"), svg.npos) << svg;
  }
}

TEST(LineChartTest, SeriesDifferInMoreThanColour) {
  LineChart chart = {.id = "a", .title = "t"};
  for (int i = 0; i < 18; ++i) chart.series.push_back({StrCat("run ", i), {1, 2}, {1.0, i + 2.0}});
  const CheckedPage page = CheckFragment(FormatSvg(DrawLines(chart)));
  std::set<std::string> classes;
  for (const Element* path : page.root.All("path")) {
    const std::string style = path->Attribute("class");
    if (style.starts_with("line")) classes.insert(style);
  }
  EXPECT_EQ(classes.size(), 18u);
}

TEST(BarChartTest, LengthsAreInTheRatioOfValues) {
  const SvgPicture picture =
      DrawBars({.id = "a",
                .title = "t",
                .pieces = {"one", "two"},
                .rows = {{"1_Conv2D", {10, 30}, "40 ms"},
                         {"\xc3\xa9<b>" + std::string(60, 'x'), {0, 10}, "10 ms"}}});
  const CheckedPage page = CheckFragment(FormatSvg(picture));
  ASSERT_THAT(page.problems, IsEmpty());
  std::vector<double> widths;
  for (const Element* bar : page.root.All("rect")) {
    if (!bar->Attribute("class").starts_with("edge")) continue;
    ASSERT_TRUE(absl::SimpleAtod(bar->Attribute("width"), &widths.emplace_back()));
  }
  ASSERT_EQ(widths.size(), 3u) << "nothing has no bar";
  EXPECT_NEAR(widths[1] / widths[0], 3, 0.01);
  EXPECT_NEAR(widths[2] / widths[0], 1, 0.01);
  EXPECT_THAT(picture.description, HasSubstr("1_Conv2D: 40 ms. "));
  EXPECT_THAT(
      CheckFragment(FormatSvg(DrawBars(
                        {.id = "a", .title = "t", .pieces = {"p"}, .rows = {{"r", {0}, "0"}}})))
          .problems,
      IsEmpty());
}

TEST(BarChartTest, AllOfItIsInsideAndPiecesStandSideBySide) {
  const SvgPicture picture = DrawBars({.id = "a",
                                       .title = "t",
                                       .pieces = {"one", "two"},
                                       .rows = {{"a", {10, 30}, "40 ms"}, {"b", {5, 5}, "10 ms"}}});
  CheckInside(picture);
  const CheckedPage page = CheckFragment(FormatSvg(picture));
  const std::vector<const Element*> bars = page.root.All("rect");
  ASSERT_EQ(bars.size(), 6u) << "four bars and what their two colours mean";
  for (const size_t row : {size_t{0}, size_t{2}}) {
    EXPECT_NEAR(NumberOf(*bars[row], "x") + NumberOf(*bars[row], "width"),
                NumberOf(*bars[row + 1], "x"), 0.02);
    EXPECT_EQ(NumberOf(*bars[row], "y"), NumberOf(*bars[row + 1], "y"));
  }
  EXPECT_GE(NumberOf(*bars[2], "y"), NumberOf(*bars[0], "y") + NumberOf(*bars[0], "height"));
  EXPECT_GE(NumberOf(*bars[5], "y"), NumberOf(*bars[4], "y") + NumberOf(*bars[4], "height"));
  EXPECT_EQ(bars[1]->All("title")[0]->text, "a, two: 30");
  // Labels stand after their bars.
  const auto labels = PlacesOfTexts(picture, "start");
  ASSERT_EQ(labels.size(), 4u);
  for (const size_t row : {size_t{0}, size_t{1}}) {
    const Element& last = *bars[2 * row + 1];
    EXPECT_GT(labels[row].first, NumberOf(last, "x") + NumberOf(last, "width"));
  }
}

TEST(BarChartTest, NamesAreCutAtTheirEnd) {
  const CheckedPage page =
      CheckFragment(FormatSvg(DrawBars({.id = "a",
                                        .title = "t",
                                        .pieces = {"p"},
                                        .rows = {{"123_BatchNormalization", {1}, "1"},
                                                 {"7_TransposedSeparableConv2D", {1}, "1"}}})));
  EXPECT_EQ(page.root.All("text")[0]->text, "123_BatchNormalization");
  EXPECT_EQ(page.root.All("text")[2]->text, "7_TransposedSeparableCon\u2026");
}

TEST(SvgTest, FilesOfTheirOwnHaveTheStyle) {
  const SvgPicture picture = DrawLines({.id = "a", .title = "t", .series = {{"s", {1}, {2}}}});
  const std::string file = FormatSvgFile(picture);
  const CheckedPage page = CheckFragment(file);
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_EQ(page.root.All("text")[0]->text, "t") << "the title can be seen";
  EXPECT_THAT(file, HasSubstr("xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(file, HasSubstr("prefers-color-scheme:dark"));
}

}  // namespace
}  // namespace dtnn

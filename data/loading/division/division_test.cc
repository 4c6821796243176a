#include "data/loading/division/division.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/loading/division/part.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Divided = std::vector<std::vector<int64_t>>;

// Ten labels, 0 0 ... 1 1 ...: as a sorted data set has them.
std::vector<int32_t> Labels(int64_t n) {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < n; ++i) labels.push_back(int32_t(i * 10 / n));
  return labels;
}

Divided Divide(const std::string& text, int64_t n, int64_t parts) {
  return Must(DivideSamples(Must(ParseDivision(text)), n, Labels(n), parts));
}

std::string Error(const std::string& text, int64_t n = 100, int64_t parts = 4,
                  bool with_labels = true) {
  const absl::StatusOr<Division> division = ParseDivision(text);
  if (!division.ok()) return std::string(division.status().message());
  return std::string(
      DivideSamples(*division, n, with_labels ? Labels(n) : std::vector<int32_t>(), parts)
          .status()
          .message());
}

TEST(DivisionTest, EverySampleBelongsToOneClient) {
  for (const std::string text :
       {"equal", "dirichlet:0.1", "dirichlet:100", "labels:1", "labels:3", "sizes:0", "sizes:2"}) {
    for (const int64_t parts : {10, 37}) {
      const Divided divided = Divide(text, 1003, parts);
      EXPECT_EQ(divided.size(), size_t(parts));
      std::set<int64_t> all;
      for (const std::vector<int64_t>& part : divided) {
        EXPECT_TRUE(std::ranges::is_sorted(part));
        for (const int64_t sample : part) EXPECT_TRUE(all.insert(sample).second) << text;
      }
      EXPECT_EQ(all.size(), 1003u) << text << " in " << parts;
      EXPECT_EQ(*all.rbegin(), 1002);
    }
  }
}

TEST(DivisionTest, TheSeedDecidesAndNothingElse) {
  for (const std::string text : {"dirichlet:0.5", "labels:2", "sizes:1"}) {
    const Divided first = Divide(text, 500, 7);
    EXPECT_EQ(Divide(text, 500, 7), first) << text;
    EXPECT_EQ(Divide(text + ":0", 500, 7), first) << text;
    EXPECT_NE(Divide(text + ":1", 500, 7), first) << text;
  }
}

// Clients that meet divide their data by these numbers, each with its own version of the program.
TEST(DivisionTest, DivisionsStayWhatTheyAre) {
  EXPECT_EQ(Divide("equal", 12, 3), (Divided{{0, 2, 3, 10}, {1, 4, 6, 9}, {5, 7, 8, 11}}));
  EXPECT_EQ(Divide("dirichlet:0.5", 30, 3),
            (Divided{{2, 3, 4, 19, 23, 28},
                     {0, 1, 5, 6, 9, 10, 11, 15, 16, 17, 18, 20, 21, 22, 27, 29},
                     {7, 8, 12, 13, 14, 24, 25, 26}}));
  EXPECT_EQ(Divide("dirichlet:2:7", 30, 3),
            (Divided{{1, 6, 10, 13, 17, 22, 24, 28, 29},
                     {3, 4, 5, 7, 9, 12, 14, 15, 16, 19, 20, 23, 26, 27},
                     {0, 2, 8, 11, 18, 21, 25}}));
  EXPECT_EQ(Divide("labels:4", 30, 3), (Divided{{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23},
                                                {1, 2, 3, 4, 5, 9, 10, 11, 27, 28, 29},
                                                {0, 6, 7, 8, 22, 24, 25, 26}}));
  EXPECT_EQ(Divide("sizes:1", 30, 3),
            (Divided{{9, 16},
                     {0,  1,  2,  3,  4,  5,  6,  7,  8,  10, 11, 12, 13, 14,
                      15, 17, 18, 19, 20, 21, 22, 24, 25, 26, 27, 28, 29},
                     {23}}));
}

TEST(DivisionTest, EqualPartsAreThoseOfPartOfSamples) {
  const Divided divided = Divide("equal", 103, 4);
  for (int64_t part = 1; part <= 4; ++part) {
    EXPECT_EQ(divided[size_t(part - 1)], PartOfSamples(103, part, 4));
  }
}

// How many samples of each label the part has.
std::map<int32_t, int64_t> CountLabels(const std::vector<int64_t>& part, int64_t n) {
  const std::vector<int32_t> labels = Labels(n);
  std::map<int32_t, int64_t> counts;
  for (const int64_t sample : part) ++counts[labels[size_t(sample)]];
  return counts;
}

// The share of a client's largest label, over all samples.
double Concentration(const Divided& divided, int64_t n) {
  int64_t largest = 0;
  for (const std::vector<int64_t>& part : divided) {
    int64_t most = 0;
    for (const auto& [label, count] : CountLabels(part, n)) most = std::max(most, count);
    largest += most;
  }
  return double(largest) / double(n);
}

TEST(DivisionTest, SmallAlphasConcentrateLabels) {
  constexpr int64_t kSamples = 20000;
  const double few = Concentration(Divide("dirichlet:0.05", kSamples, 20), kSamples);
  const double some = Concentration(Divide("dirichlet:0.5", kSamples, 20), kSamples);
  const double none = Concentration(Divide("dirichlet:1000", kSamples, 20), kSamples);
  EXPECT_GT(few, 0.5);
  EXPECT_LT(some, few - 0.15);
  EXPECT_LT(none, 0.12) << "of ten labels";
  EXPECT_GT(some, none + 0.1);
}

TEST(DivisionTest, ClientsHaveSoManyLabelsAndLabelsAreShared) {
  constexpr int64_t kSamples = 1200;
  const Divided divided = Divide("labels:3", kSamples, 40);
  for (const std::vector<int64_t>& part : divided) {
    const auto counts = CountLabels(part, kSamples);
    EXPECT_EQ(counts.size(), 3u);
    for (const auto& [label, count] : counts) EXPECT_EQ(count, 10) << "of 120 for 12 clients";
  }
}

TEST(DivisionTest, FewClientsLeaveLabelsOut) {
  const Divided divided = Divide("labels:2", 100, 3);
  size_t all = 0;
  for (const std::vector<int64_t>& part : divided) all += part.size();
  EXPECT_EQ(all, 60u) << "six of ten labels";
}

TEST(DivisionTest, SizesSpread) {
  const auto sizes = [](const std::string& text) {
    std::vector<size_t> all;
    for (const auto& part : Divide(text, 10000, 50)) all.push_back(part.size());
    std::ranges::sort(all);
    return all;
  };
  const std::vector<size_t> equal = sizes("sizes:0"), spread = sizes("sizes:1");
  EXPECT_LE(equal.back() - equal.front(), 1u);
  // The median of 50 is 200 exp(-1 / 2) = 121, the largest some ten times it.
  EXPECT_NEAR(double(spread[25]), 121, 50);
  EXPECT_GT(spread.back(), 500u);
  EXPECT_LT(spread.front(), 40u);
}

class DivisionFileTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    path_ = testing::WriteFile(testing::NewFolder("division"), "division.txt",
                               {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return "file:" + path_;
  }
  std::string path_;
};

TEST_F(DivisionFileTest, LinesAreClients) {
  const Divided divided = Divide(Write("5,3 1\n\n 0\t2,\r\n"), 6, 3);
  EXPECT_THAT(divided[0], ElementsAre(1, 3, 5));
  EXPECT_THAT(divided[1], IsEmpty());
  EXPECT_THAT(divided[2], ElementsAre(0, 2));
}

TEST_F(DivisionFileTest, WhatIsWrongIsNamedWithItsLine) {
  const auto error = [this](const std::string& text, int64_t parts) {
    const std::string all = Error(Write(text), 100, parts);
    EXPECT_TRUE(all.starts_with(path_)) << all;
    return all.substr(std::min(path_.size(), all.size()));
  };
  EXPECT_EQ(error("1\n2\n3\n", 4), ": has 3 lines, expected one for each of 4 clients");
  EXPECT_EQ(error("1\n2,x7\n", 2),
            ", line 2: \"x7\" is not the number of a training sample, 0 to 99");
  EXPECT_EQ(error("1\n100", 2),
            ", line 2: \"100\" is not the number of a training sample, 0 to 99");
  EXPECT_EQ(error("-1\n1", 2), ", line 1: \"-1\" is not the number of a training sample, 0 to 99");
  EXPECT_EQ(error("4 9\n3\n9\n", 3), ", line 3: sample 9 is there already, in line 1");
  EXPECT_THAT(Error("file:/no/such/file"), HasSubstr("/no/such/file"));
}

TEST(DivisionTest, OtherTextsAreRefused) {
  const std::string all = "expected equal, dirichlet:ALPHA, labels:K, sizes:SIGMA or file:FILE";
  for (const std::string text : {"", "even", "equal:2", "file", "file:", ":", "Dirichlet:1"}) {
    EXPECT_EQ(Error(text), "\"" + text + "\": " + all);
  }
  const std::string alpha =
      "expected dirichlet with a number from 0.001 to 1e+06, such as dirichlet:0.3";
  for (const std::string text : {"dirichlet", "dirichlet:", "dirichlet:0", "dirichlet:-1",
                                 "dirichlet:nan", "dirichlet:2e6", "dirichlet:0.3x"}) {
    EXPECT_EQ(Error(text), "\"" + text + "\": " + alpha);
  }
  EXPECT_EQ(
      Error("labels:1.5"),
      "\"labels:1.5\": expected labels with a whole number from 1 to 65536, such as labels:2");
  EXPECT_EQ(Error("sizes:11"),
            "\"sizes:11\": expected sizes with a number from 0 to 10, such as sizes:0.3");
  EXPECT_EQ(Error("sizes:1:x"),
            "\"sizes:1:x\": expected a seed after the second colon, a whole number from 0");
}

TEST(DivisionTest, LabelsAreOneClassPerSample) {
  for (const char* text : {"dirichlet:1", "labels:1"}) {
    for (const auto& labels : {std::vector<int32_t>{0, 1, -1}, {0, 1}}) {
      const auto divided = DivideSamples(*ParseDivision(text), 3, labels, 2);
      EXPECT_TRUE(absl::IsInvalidArgument(divided.status())) << text;
    }
  }
}

TEST(DivisionTest, LabelsMustSuffice) {
  EXPECT_EQ(Error("labels:11"), "11 labels per client, but the samples have 10");
  EXPECT_THAT(Error("labels:2", 100, 4, false), HasSubstr("needs one class per sample"));
  EXPECT_THAT(Error("dirichlet:1", 100, 4, false), HasSubstr("needs one class per sample"));
  EXPECT_EQ(Error("sizes:1", 100, 4, false), "");
}

}  // namespace
}  // namespace dtnn

#include "models/run/parts/best_of_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

BestOfKey Key(const std::string& problem) {
  return {.operation = "op", .direction = "there", .problem = problem, .machine = "AVX3"};
}

RunOptions InFile(const std::string& name) {
  RunOptions options;
  options.convolution.best_of_file = ::testing::TempDir() + name;
  std::filesystem::remove(options.convolution.best_of_file);
  return options;
}

absl::StatusOr<std::vector<BestOfCandidate>> One() {
  return std::vector<BestOfCandidate>{{"a", [] { return absl::OkStatus(); }}};
}

TEST(BestOfFileTest, WhatWasDecidedIsKnownToTheNextRun) {
  const RunOptions options = InFile("tuned.txt");
  const auto run = [&](const std::string& problem) {
    BestOf best_of({.known = *LoadDecisions(options)});
    EXPECT_TRUE(best_of.Choose(Key(problem), One).ok());
    EXPECT_EQ(SaveDecisions(options, best_of), absl::OkStatus());
    return best_of.timed();
  };
  EXPECT_EQ(run("x"), 1);
  EXPECT_EQ(run("x"), 0);
  EXPECT_EQ(run("y"), 1);
  EXPECT_EQ(LoadDecisions(options)->all().size(), 2u);
}

TEST(BestOfFileTest, WhatAnotherSavedMeanwhileStays) {
  const RunOptions options = InFile("shared.txt");
  BestOf first({.known = *LoadDecisions(options)}), second({.known = *LoadDecisions(options)});
  EXPECT_TRUE(first.Choose(Key("x"), One).ok());
  EXPECT_TRUE(second.Choose(Key("y"), One).ok());
  EXPECT_EQ(SaveDecisions(options, first), absl::OkStatus());
  EXPECT_EQ(SaveDecisions(options, second), absl::OkStatus());
  const Decisions saved = *LoadDecisions(options);
  EXPECT_NE(saved.Find(Key("x")), nullptr);
  EXPECT_NE(saved.Find(Key("y")), nullptr);
}

TEST(BestOfFileTest, CheckingLeavesTheFileAsItIs) {
  const RunOptions options = InFile("checked.txt");
  EXPECT_EQ(CheckBestOfFile(RunOptions()), absl::OkStatus());
  EXPECT_EQ(CheckBestOfFile(options), absl::OkStatus());
  EXPECT_FALSE(std::filesystem::exists(options.convolution.best_of_file));
  BestOf best_of;
  EXPECT_TRUE(best_of.Choose(Key("x"), One).ok());
  EXPECT_EQ(SaveDecisions(options, best_of), absl::OkStatus());
  EXPECT_EQ(CheckBestOfFile(options), absl::OkStatus());
  EXPECT_EQ(LoadDecisions(options)->all().size(), 1u);
}

TEST(BestOfFileTest, WithoutTheOptionThereIsNoFile) {
  BestOf best_of({.known = *LoadDecisions(RunOptions())});
  EXPECT_TRUE(best_of.Choose(Key("x"), One).ok());
  EXPECT_EQ(SaveDecisions(RunOptions(), best_of), absl::OkStatus());
  // Nor where there is nothing to tell.
  const RunOptions options = InFile("none.txt");
  EXPECT_EQ(SaveDecisions(options, BestOf()), absl::OkStatus());
  EXPECT_FALSE(std::filesystem::exists(options.convolution.best_of_file));
}

TEST(BestOfFileTest, ErrorsNameOptionFileAndLine) {
  RunOptions options = InFile("damaged.txt");
  std::ofstream(options.convolution.best_of_file) << "# title\nop/there\n";
  EXPECT_THAT(std::string(LoadDecisions(options).status().message()),
              HasSubstr("RunOptions::convolution.best_of_file: " +
                        options.convolution.best_of_file + ": line 2: "));
  EXPECT_EQ(CheckBestOfFile(options), LoadDecisions(options).status());
  options.convolution.best_of_file = "/no/such/folder/tuned.txt";
  EXPECT_THAT(std::string(CheckBestOfFile(options).message()),
              HasSubstr("RunOptions::convolution.best_of_file: /no/such/folder/tuned.txt: "));
  BestOf best_of;
  EXPECT_TRUE(best_of.Choose(Key("x"), One).ok());
  EXPECT_THAT(std::string(SaveDecisions(options, best_of).message()),
              HasSubstr("RunOptions::convolution.best_of_file: /no/such/folder/tuned.txt: "));
}

}  // namespace
}  // namespace dtnn

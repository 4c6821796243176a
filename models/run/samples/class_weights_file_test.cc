#include "models/run/samples/class_weights_file.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kNames = {"grey cat", "dog", "cow"};

// The weights of those classes, or why there are none.
absl::StatusOr<std::vector<double>> Weights(const std::string& text,
                                            const std::vector<std::string>& names = kNames) {
  const auto lines = ParseClassWeights(text, "w.txt");
  if (!lines.ok()) return lines.status();
  return OrderClassWeights(*lines, "w.txt", "pets", 3, names);
}

TEST(ClassWeightsFileTest, NumbersAreInTheOrderOfTheClasses) {
  EXPECT_THAT(*Weights("1\n2.5\r\n\n 0 \n"), ElementsAre(1, 2.5, 0));
  EXPECT_THAT(*Weights("1\n2\n1e-3", {}), ElementsAre(1, 2, 1e-3)) << "classes without names";
}

TEST(ClassWeightsFileTest, NamesComeInAnyOrder) {
  EXPECT_THAT(*Weights("cow 3\ngrey cat\t1\n\n  dog   0\n"), ElementsAre(1, 0, 3));
  EXPECT_THAT(*Weights("2 30\n0 10\n1 20\n", {"0", "1", "2"}), ElementsAre(10, 20, 30));
}

TEST(ClassWeightsFileTest, WhatMakesNoSenseIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"1\n2\n", "w.txt: has 2 weights, but pets has 3 classes"},
      {"1\n2\n3\n4\n", "w.txt: has 4 weights, but pets has 3 classes"},
      {"cow 1\ndog 2\n", "w.txt: has no weight for class \"grey cat\" of pets"},
      {"cow 1\nbird 2\n", "w.txt: line 2: pets has no class \"bird\""},
      {"cow 1\n\ncow 2\n", "w.txt: line 3: class \"cow\" has a weight already, in line 1"},
      {"cow 1\n2\n",
       "w.txt: line 2: has no name, but line 1 has one; give all weights by name, or all in the "
       "order of the classes"},
      {"\n1\ncow 2\n",
       "w.txt: line 3: has a name, but line 2 has none; give all weights by name, or all in the "
       "order of the classes"},
      {"1\n-2\n3\n",
       "w.txt: line 2: \"-2\" is not a weight; expected a number from 0 on, or the name of a class "
       "and such a number"},
      {"cow nan",
       "w.txt: line 1: \"nan\" is not a weight; expected a number from 0 on, or the "
       "name of a class and such a number"},
      {"inf",
       "w.txt: line 1: \"inf\" is not a weight; expected a number from 0 on, or the name of "
       "a class and such a number"},
      {"cow",
       "w.txt: line 1: \"cow\" is not a weight; expected a number from 0 on, or the name of "
       "a class and such a number"},
      {"c\x01w 1", "w.txt: line 1: \"c\\x01w\" is not the name of a class"},
      {"0\n0\n0\n", "w.txt: all weights are 0, so there is nothing to learn"},
      {" \n", "w.txt: has no weights, so there is nothing to learn"},
      {"", "w.txt: has no weights, so there is nothing to learn"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_EQ(Weights(text).status(), absl::InvalidArgumentError(error));
  }
  EXPECT_EQ(Weights("cow 1\n", {}).status().message(),
            "w.txt: names classes, but those of pets have no names; give a number for each, in "
            "their order");
}

TEST(ClassWeightsFileTest, AFileThatIsTooLargeIsNotRead) {
  const std::string path = ::testing::TempDir() + "large.txt";
  std::ofstream(path) << "1\n";
  EXPECT_TRUE(ReadClassWeights(path).ok());
  std::filesystem::resize_file(path, uint64_t{2} << 30);  // no blocks of a disk
  const absl::Status status = ReadClassWeights(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("large.txt"));
  std::filesystem::remove(path);
  EXPECT_EQ(ReadClassWeights(path).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace dtnn

#include "apps/printing/name_lists.h"

#include <sstream>
#include <string>
#include <vector>

#include "apps/flags/option_table.h"
#include "apps/flags/parser.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "data/loading/open_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"
#include "models/zoo/zoo.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Lines(void (*list)(std::ostream& out)) {
  std::stringstream text;
  list(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(NameListsTest, EveryNetworkHasALineWithItsSize) {
  const std::vector<std::string> lines = Lines(ListModels);
  ASSERT_EQ(lines.size(), ZooModels().size() + 2) << "a head, and a sentence at the end";
  for (size_t i = 0; i < ZooModels().size(); ++i) {
    const std::string& line = lines[i + 1];
    EXPECT_TRUE(line.starts_with(std::string(ZooModels()[i].name) + " ")) << line;
    EXPECT_TRUE(line.ends_with(ZooModels()[i].note)) << line;
  }
  EXPECT_THAT(lines[4], HasSubstr("simplecnn_v1"));
  EXPECT_THAT(lines[4], ::testing::AllOf(HasSubstr(" 149210 "), HasSubstr("a README of PyDTNN")));
  EXPECT_THAT(lines[1], HasSubstr(" (28, 28, 1) "));
  EXPECT_THAT(lines[1], HasSubstr(" 932362 ")) << "784, three times 512, 10";
}

TEST(NameListsTest, TheLauncherTakesEveryDataSetThatIsNotMarked) {
  const std::vector<std::string> lines = Lines(ListDatasets);
  EXPECT_GT(lines.size(), 5u);
  for (const std::string& line : lines) {
    const std::string name = line.substr(0, line.find(' '));
    const std::vector<std::string> flags = {"--model=vgg16", "--dataset=" + name,
                                            "--dataset-path=folder"};
    const absl::StatusOr<CommandLine> command_line = ParseFlags(flags);
    EXPECT_EQ(command_line.ok(), line == name) << command_line.status();
  }
}

std::vector<std::string> WordsOf(std::string_view option) {
  const std::vector<std::string_view> words = SplitList(FindOption(option)->words);
  return {words.begin(), words.end()};
}

TEST(NameListsTest, DataSetsAreThoseOfTheLibrary) {
  EXPECT_THAT(WordsOf("dataset"), ::testing::UnorderedElementsAreArray(DatasetNames()));
}

// "auto" chooses among them.
TEST(NameListsTest, ConvolutionVariantsAreThoseOfTheLibrary) {
  std::vector<std::string_view> expected = Conv2dVariantNames();
  expected.push_back("auto");
  EXPECT_THAT(WordsOf("conv-variant"), ::testing::UnorderedElementsAreArray(expected));
}

TEST(NameListsTest, TransformsAreExplained) {
  const std::vector<std::string> lines = Lines(ListTransforms);
  EXPECT_THAT(lines, ::testing::Contains("pad_crop:PADDING:FILL"));
  EXPECT_THAT(
      lines, ::testing::Contains("    PADDING      pixels that are added on each side (1 to 65536; "
                                 "default 4)"));
  EXPECT_THAT(lines, ::testing::Contains("    FILL         what they contain: 0, or the mirrored "
                                         "image (zero or reflect; default zero)"));
}

TEST(NameListsTest, EveryMethodOfDirectHasALine) {
  const std::vector<std::string> lines = Lines(ListDirectMethods);
  const std::vector<std::string> words = WordsOf("conv-direct-method");
  ASSERT_EQ(lines.size(), words.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_TRUE(lines[i].starts_with(words[i] + ": ")) << lines[i];
  }
}

TEST(NameListsTest, NetworksOfTheZooAreKnown) {
  for (const ModelInfo& model : ZooModels()) EXPECT_TRUE(CheckModelName(model.name).ok());
  const absl::Status unknown = CheckModelName("vgg61");
  EXPECT_EQ(ExitCodeOf(unknown), kExitUsage);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("--model=vgg61: unknown model"));
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("did you mean"));
}

}  // namespace
}  // namespace dtnn

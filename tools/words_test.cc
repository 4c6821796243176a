#include "tools/words.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::words {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The runfile is a link to the real file, so this finds every source, also the newest.
fs::path Root() {
  return fs::canonical(fs::path(std::getenv("TEST_SRCDIR")) / "dtnn" / "WORKSPACE").parent_path();
}

std::vector<std::string> PatternsIn(std::string_view path, std::string_view text) {
  std::vector<std::string> names;
  for (const Finding& finding : Check(path, text)) names.push_back(finding.pattern);
  return names;
}

TEST(WordsTest, ThisRepositoryGainsNone) {
  std::ifstream in(Root() / "tools" / "words_left.txt", std::ios::binary);
  ASSERT_TRUE(in.is_open());
  std::vector<std::string> errors;
  const Ceilings left = ReadCeilings(
      std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()), errors);
  EXPECT_THAT(errors, IsEmpty());
  const auto texts = ReadTexts(Root());
  EXPECT_GT(texts.size(), 1000) << "too few texts below " << Root();
  for (const std::string& message : CheckTexts(texts, left)) ADD_FAILURE() << message;
}

TEST(WordsTest, EachPatternFindsItsSentence) {
  const std::pair<const char*, const char*> kExamples[] = {
      {"of", "Of the last epoch: its loss."},
      {"of", "The loss.\nOf the last epoch."},
      {"who", "Who asks twice does not wait."},
      {"who", "It ends: who asks twice does not wait."},
      {"who", "It shows the key to who asks."},
      {"who", "It ends. Who asks\ntwice does not wait."},
      {"whoever", "Whoever is free takes the next one."},
      {"whoever", "the next one goes to whoever is free"},
      {"is-no", "What is no image is skipped."},
      {"is-no", "An equal value is\nno improvement."},
      {"is-no", "errors that were no warnings"},
      {"told", "What the trainer is told."},
      {"told", "Others have been told the end."},
      {"goes-on", "Training goes on with the next epoch."},
      {"goes-on", "The run cannot go on."},
      {"into-the-cache", "A tile calls into the cache what it writes."},
      {"into-the-cache", "Calls the next rows into the cache."},
      {"numbered-cache", "Fits the second cache."},
      {"behind-the-step", "Summed behind the step."},
      {"renew", "A page that each epoch renews."},
      {"stranger", "The door admits no strangers."},
      {"farewell", "A farewell ends it."},
      {"hushed", "The other ranks are hushed."},
  };
  for (const auto& [pattern, sentence] : kExamples) {
    std::string comment = "// " + std::string(sentence) + "\n";
    if (const size_t end = comment.find('\n'); end + 1 < comment.size()) {
      comment.insert(end + 1, "// ");
    }
    EXPECT_THAT(PatternsIn("tensor/a.h", comment), ElementsAre(pattern)) << comment;
    EXPECT_THAT(PatternsIn("docs/a.md", sentence), ElementsAre(pattern)) << sentence;
  }
}

TEST(WordsTest, PlainEnglishIsLeftAlone) {
  for (const char* sentence :
       {"The sum of all.", "Offline.", "The first. Of equal ones the first.",
        "Users who ask twice do not wait.", "Who sends the message?", "Says who may use it.",
        "The client, who has the key, reads it.", "There is no key.", "there are\nno keys",
        "It is no longer there.", "Runs are told apart by their names.", "He told nobody.",
        "It goes once.", "Loads the weights into the cache.", "The first caches.",
        "Behind the scenes."}) {
    EXPECT_THAT(PatternsIn("docs/a.md", sentence), IsEmpty()) << sentence;
  }
  EXPECT_THAT(PatternsIn("docs/a.md", "## Who sees what\n"), IsEmpty());
}

TEST(WordsTest, CodeIsNotReadAndLiteralsAre) {
  EXPECT_THAT(PatternsIn("tensor/a.cc", "const auto who = Whoever(Of (1));\n"), IsEmpty());
  EXPECT_THAT(PatternsIn("tensor/a.cc", "f(\"whoever\", 'a');  // goes on\n"),
              ElementsAre("goes-on", "whoever"));
  // Literals that the compiler joins, and those that it does not.
  EXPECT_THAT(PatternsIn("tensor/a.cc", "f(\"this is \"\n  \"no transport\");\n"),
              ElementsAre("is-no"));
  EXPECT_THAT(PatternsIn("tensor/a.cc", "f(\"this is\", \"no transport\");\n"), IsEmpty());
  EXPECT_THAT(PatternsIn("tensor/a.cc", "f(\"http://a\", \"goes on\");\n"), ElementsAre("goes-on"));
}

TEST(WordsTest, AFindingNamesFileLineWordsAndBetterOnes) {
  const auto findings = Check("tensor/a.h", "// A tensor.\n//\n// It is no view.\nint a;\n");
  ASSERT_EQ(findings.size(), 1);
  EXPECT_THAT(findings[0].text, AllOf(StartsWith("tensor/a.h:3: \"It is no view\": write "),
                                      HasSubstr("is not a"), EndsWith("(is-no)")));
  EXPECT_THAT(Check("docs/a.md", "# A\n\n- One.\n- Of two.\n").at(0).text,
              StartsWith("docs/a.md:4: "));
}

TEST(WordsTest, CeilingsOnlyShrink) {
  const std::map<std::string, std::string> texts = {{"docs/a.md", "It goes on.\n\nIt goes on.\n"}};
  const auto check = [&](int allowed) {
    return CheckTexts(texts, {{{"docs/a.md", "goes-on"}, allowed}});
  };
  EXPECT_THAT(check(2), IsEmpty());
  EXPECT_THAT(check(3), ElementsAre(EndsWith("\"docs/a.md goes-on 3\": lower the number to 2")));
  EXPECT_THAT(check(1), ElementsAre(AllOf(StartsWith("docs/a.md:1: \"goes on\""),
                                          EndsWith("one of 2, of which 1 were there before")),
                                    StartsWith("docs/a.md:3: \"goes on\"")));
  EXPECT_EQ(CheckTexts(texts, {}).size(), 2);
  EXPECT_THAT(CheckTexts({}, {{{"docs/b.md", "who"}, 1}}),
              ElementsAre(HasSubstr("remove this line")));
}

TEST(WordsTest, ATableOfCeilingsIsRead) {
  std::vector<std::string> errors;
  EXPECT_THAT(ReadCeilings("# left\n\ndocs/a.md who 3\n", errors),
              ElementsAre(std::pair(std::pair(std::string("docs/a.md"), std::string("who")), 3)));
  EXPECT_THAT(errors, IsEmpty());
  ReadCeilings("a who\na whom 1\na who 0\na who 1\na who 2\n", errors);
  EXPECT_EQ(errors.size(), 4);
}

}  // namespace
}  // namespace dtnn::words

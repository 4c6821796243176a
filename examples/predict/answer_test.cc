// A model that the launcher trained is answered with by the program that has nothing but its file.

#include <filesystem>
#include <string>

#include "apps/testing/process.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(AnswerTest, AnswersWithWhatTheLauncherSaved) {
  const std::string root = testing::NewFolder("answer");
  for (const bool bright : {false, true}) {
    const std::string folder = root + "/train/" + (bright ? "bright" : "dark");
    std::filesystem::create_directories(folder);
    for (int i = 0; i < 10; ++i) {
      const uint8_t grey = uint8_t((bright ? 200 : 20) + i);
      testing::WriteFile(folder, std::to_string(i), testing::FlatJpeg(8, 8, {grey, grey, grey}));
    }
  }
  const std::string model = root + "/mine.safetensors";
  const testing::Outcome trained = testing::Launch(
      "apps/benchmark", "--model=simplemlp --dataset=folder --dataset-path=" + root +
                            " --batch-size=4 --num-epochs=20 --schedulers= --save-model=" + model);
  ASSERT_EQ(trained.exit_code, 0) << trained.text;
  const std::string dark = root + "/train/dark/3", bright = root + "/train/bright/4";
  const testing::Outcome answered =
      testing::Launch("examples/predict/answer", model + " " + dark + " " + bright);
  EXPECT_EQ(answered.exit_code, 0);
  EXPECT_THAT(answered.text, HasSubstr(dark + ": dark "));
  EXPECT_THAT(answered.text, HasSubstr(bright + ": bright "));

  const testing::Outcome alone = testing::Launch("examples/predict/answer", model + " 2>&1");
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_EQ(alone.text, "usage: answer MODEL IMAGE...\n");
  const testing::Outcome missing =
      testing::Launch("examples/predict/answer", model + " " + root + "/none");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.text, HasSubstr(root + "/none: "));
}

TEST(AnswerTest, LinksWhatPredictingNeeds) {
  const testing::Outcome libraries = testing::Launch("ldd", "examples/predict/answer");
  ASSERT_EQ(libraries.exit_code, 0) << libraries.text;
  EXPECT_THAT(libraries.text, HasSubstr("libzip"));
  for (const char* library : {"libmpi", "libblis", "libgomp"}) {
    EXPECT_THAT(libraries.text, Not(HasSubstr(library)));
  }
  // By the names of their functions.
  const auto holds = [](const char* name) {
    return testing::Launch("grep", std::string("-q ") + name + " examples/predict/answer")
               .exit_code == 0;
  };
  EXPECT_TRUE(holds("Predictor"));
  EXPECT_FALSE(holds("RuleOptimizer"));
  EXPECT_FALSE(holds("StepEngine"));
}

}  // namespace
}  // namespace dtnn

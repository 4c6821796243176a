#include "apps/simulate/client_labels.h"

#include <fstream>
#include <string>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using federation::Labels;
using ::testing::HasSubstr;

std::string Write(const std::string& text) {
  static const std::string folder = testing::NewFolder("labels");
  std::ofstream(folder + "/labels.txt") << text;
  return folder + "/labels.txt";
}

TEST(ClientLabelsTest, ALineIsAClient) {
  const std::vector<Labels> wanted = {{{"battery", "80"}, {"site", "north"}}, {}, {{"site", "a"}}};
  EXPECT_EQ(Must(ReadClientLabels(Write("site=north,battery=80\n\nsite=a\n"), 3)), wanted);
  EXPECT_EQ(Must(ReadClientLabels(Write("site=north,battery=80\n\nsite=a"), 3)), wanted);
  EXPECT_EQ(Must(ReadClientLabels("", 2)), std::vector<Labels>(2));
}

TEST(ClientLabelsTest, ErrorsNameTheLine) {
  const auto why = [](const std::string& text) {
    return std::string(ReadClientLabels(Write(text), 2).status().message());
  };
  EXPECT_THAT(why("site=a\nsite\n"),
              HasSubstr("labels.txt, line 2: a label \"site\": expected KEY=VALUE"));
  EXPECT_THAT(why("site=a\n"),
              HasSubstr("labels.txt: has 1 lines; expected one for each of 2 clients (--clients)"));
  EXPECT_THAT(std::string(ReadClientLabels("/no/such/file", 2).status().message()),
              HasSubstr("--client-labels-file: "));
}

}  // namespace
}  // namespace dtnn

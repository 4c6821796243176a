// The server's page in a browser: an image is dropped on it, and the answer shown.

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "apps/serve/testing/served_process.h"
#include "apps/testing/browser.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/serving/predictor.h"
#include "nlohmann/json.hpp"
#include "tensor/files/access/private_file.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using nlohmann::json;
using testing::Browser;
using ::testing::HasSubstr;
using testing::ServedProcess;
using testing::When;

// Drops a file on the page; what is shown then: a row of texts for each class, or an error.
std::string Drop(const std::vector<uint8_t>& file) {
  const std::string bytes =
      absl::Base64Escape({reinterpret_cast<const char*>(file.data()), file.size()});
  return StrCat(
      "(() => { const data = new DataTransfer(); data.items.add(new File([Uint8Array.from(atob('",
      bytes,
      "'), c => c.charCodeAt(0))], 'x', {type: 'image/png'}));"
      "at('drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true}));"
      "return ",
      When("at('answer').rows.length || at('error').textContent",
           "at('error').textContent || [...at('answer').rows].map(row => [...row.cells].slice(0, "
           "2).map(cell => cell.textContent))"),
      "; })()");
}

class PageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Browser::IsThere()) GTEST_SKIP() << Browser::kMissing;
    testing::SaveServed(model_, testing::ServedNet(), 1);
  }

  const std::string folder_ = testing::NewFolder("page");
  const std::string model_ = folder_ + "/net.safetensors";
  const std::vector<uint8_t> image_ =
      testing::EncodePng(6, 5, testing::SmoothPixels(6, 5, 3, /*seed=*/2));
};

TEST_F(PageTest, ShowsTheAnswerOfADroppedImage) {
  const ServedProcess server({model_});
  Browser browser(folder_ + "/browser");
  browser.Open(StrCat("http://127.0.0.1:", server.port(), "/"));
  EXPECT_EQ(browser.Evaluate(When("at('model').options.length",
                                  "[...at('model').options].map(option => option.value)")),
            json({"net"}));
  EXPECT_EQ(browser.Evaluate("Promise.resolve(getComputedStyle(at('drop')).display)"), "block");
  const auto predictor = *Predictor::Load(model_);
  const Classification expected =
      (*predictor->Classify({testing::WriteFile(folder_, "x.png", image_)}))[0];
  browser.Evaluate("at('top').value = 3; Promise.resolve()");
  const json rows = browser.Evaluate(Drop(image_));
  ASSERT_EQ(rows.size(), 3) << rows;
  EXPECT_EQ(rows[0][0], expected.name);
  EXPECT_NEAR(std::atof(rows[0][1].get<std::string>().c_str()), 100 * expected.probability, 0.051);
  EXPECT_EQ(browser.Evaluate(When("at('image').complete && at('image').naturalWidth",
                                  "at('image').naturalWidth")),
            5)
      << "the image is shown";
  EXPECT_THAT(browser.complaints(), ::testing::IsEmpty());
  EXPECT_THAT(browser.Evaluate(Drop({1, 2, 3})).get<std::string>(), HasSubstr("the image: "));
}

TEST_F(PageTest, AsksForTheToken) {
  const std::string token = "0123456789abcdef";
  ASSERT_TRUE(WritePrivateFile(folder_ + "/token", token).ok());
  const ServedProcess server({model_}, {"--token-file=" + folder_ + "/token"});
  Browser browser(folder_ + "/browser2");
  browser.Open(StrCat("http://127.0.0.1:", server.port(), "/"));
  EXPECT_EQ(browser.Evaluate(When("at('error').textContent", "at('secret').hidden")), false);
  browser.Evaluate(StrCat("at('token').value = '", token,
                          "'; at('token').dispatchEvent(new Event('change')); ",
                          When("at('model').options.length", "1")));
  EXPECT_EQ(browser.Evaluate(Drop(image_)).size(), 4) << "its four classes";
}

}  // namespace
}  // namespace dtnn

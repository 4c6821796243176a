// The server's page in a browser: an image is dropped on it, and the answer shown.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "apps/serve/served_process.h"
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
using ::testing::HasSubstr;
using testing::ServedProcess;

constexpr char kBrowser[] = "/usr/bin/chromium";

// Chromium without a window, and one page in it, asked through its pipe for debuggers.
class Browser {
 public:
  explicit Browser(const std::string& folder) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      // Ends above 4, so that none is replaced before it is copied.
      const int in = fcntl(to[0], F_DUPFD, 10), out = fcntl(from[1], F_DUPFD, 10);
      dup2(in, 3);
      dup2(out, 4);
      const int quiet = open("/dev/null", O_WRONLY);
      dup2(quiet, STDERR_FILENO);
      setenv("HOME", folder.c_str(), 1);
      const std::string data = "--user-data-dir=" + folder;
      execl(kBrowser, kBrowser, "--headless=new", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--remote-debugging-pipe", data.c_str(), "about:blank",
            nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    write_ = to[1];
    read_ = from[0];
    const json page = Call("Target.createTarget", {{"url", "about:blank"}})["targetId"];
    session_ = Call("Target.attachToTarget", {{"targetId", page}, {"flatten", true}})["sessionId"];
    Call("Runtime.enable", json::object());
    Call("Log.enable", json::object());
    Call("Page.enable", json::object());
  }
  ~Browser() {
    close(write_);
    close(read_);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // Returns when the page's script has run.
  void Open(const std::string& url) {
    loaded_ = false;
    Call("Page.navigate", {{"url", url}});
    while (!loaded_ && !::testing::Test::HasFailure()) Notice(Next());
  }

  // The value of a promise on the page.
  json Evaluate(const std::string& script) {
    const json answer =
        Call("Runtime.evaluate",
             {{"expression", script}, {"awaitPromise", true}, {"returnByValue", true}});
    EXPECT_FALSE(answer.contains("exceptionDetails")) << answer;
    return answer["result"].value("value", json());
  }
  // Errors that it has reported.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  json Call(std::string_view method, json parameters) {
    json request = {{"id", ++calls_}, {"method", method}, {"params", std::move(parameters)}};
    if (!session_.is_null()) request["sessionId"] = session_;
    const std::string text = request.dump() + '\0';
    if (write(write_, text.data(), text.size()) != ssize_t(text.size())) std::abort();
    while (true) {
      const json message = Next();
      if (message.is_null()) return {};
      if (message.value("id", 0) == calls_) {
        EXPECT_FALSE(message.contains("error")) << message;
        return message.value("result", json::object());
      }
      Notice(message);
    }
  }

  void Notice(const json& message) {
    if (message.is_null()) return;
    const std::string event = message.value("method", "");
    loaded_ = loaded_ || event == "Page.loadEventFired";
    if (event == "Runtime.exceptionThrown" ||
        (event == "Log.entryAdded" && message["params"]["entry"]["level"] == "error")) {
      complaints_.push_back(message["params"].dump());
    }
  }

  json Next() {
    size_t end = 0;
    while ((end = unread_.find('\0')) == std::string::npos) {
      char buffer[4096];
      const ssize_t n = read(read_, buffer, sizeof(buffer));
      if (n <= 0) {
        ADD_FAILURE() << "the browser has ended";
        return {};
      }
      unread_.append(buffer, size_t(n));
    }
    json message = json::parse(unread_.substr(0, end));
    unread_.erase(0, end + 1);
    return message;
  }

  pid_t pid_ = -1;
  int write_ = -1, read_ = -1, calls_ = 0;
  json session_;
  bool loaded_ = false;
  std::string unread_;
  std::vector<std::string> complaints_;
};

// A promise of `value` once `condition` holds.
std::string When(std::string_view condition, std::string_view value) {
  return StrCat("new Promise(done => { const look = () => (", condition, ") ? done(", value,
                ") : setTimeout(look, 5); look(); })");
}

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
    if (access(kBrowser, X_OK) != 0) {
      GTEST_SKIP() << "no Chromium; apt-get install chromium to run this test";
    }
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

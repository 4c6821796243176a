#include "apps/testing/browser.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "gtest/gtest.h"
#include "tensor/text/str_cat.h"

namespace dtnn::testing {
namespace {

using nlohmann::json;

constexpr char kBrowser[] = "/usr/bin/chromium";

}  // namespace

bool Browser::IsThere() { return access(kBrowser, X_OK) == 0; }

Browser::Browser(const std::string& folder) {
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

Browser::~Browser() {
  close(write_);
  close(read_);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Browser::Open(const std::string& url) {
  loaded_ = false;
  Call("Page.navigate", {{"url", url}});
  while (!loaded_ && !::testing::Test::HasFailure()) Notice(Next());
}

json Browser::Evaluate(const std::string& script) {
  const json answer =
      Call("Runtime.evaluate",
           {{"expression", script}, {"awaitPromise", true}, {"returnByValue", true}});
  EXPECT_FALSE(answer.contains("exceptionDetails")) << answer;
  return answer["result"].value("value", json());
}

json Browser::Call(std::string_view method, json parameters) {
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

void Browser::Notice(const json& message) {
  if (message.is_null()) return;
  const std::string event = message.value("method", "");
  loaded_ = loaded_ || event == "Page.loadEventFired";
  if (event == "Runtime.exceptionThrown" ||
      (event == "Log.entryAdded" && message["params"]["entry"]["level"] == "error")) {
    complaints_.push_back(message["params"].dump());
  }
}

json Browser::Next() {
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

std::string When(std::string_view condition, std::string_view value) {
  return StrCat("new Promise(done => { const look = () => (", condition, ") ? done(", value,
                ") : setTimeout(look, 5); look(); })");
}

}  // namespace dtnn::testing

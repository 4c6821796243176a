// Chromium without a window, and one page in it, for tests of pages.

#ifndef DTNN_APPS_TESTING_BROWSER_H_
#define DTNN_APPS_TESTING_BROWSER_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace dtnn::testing {

// Asked through its pipe for debuggers. What it answers with errors fails the test.
class Browser {
 public:
  static constexpr char kMissing[] = "no Chromium; ./setup.sh --dev installs it";
  static bool IsThere();

  // `folder`: for its files.
  explicit Browser(const std::string& folder);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // Returns when the page's script has run.
  void Open(const std::string& url);
  // The value of a promise on the page.
  nlohmann::json Evaluate(const std::string& script);
  // Errors that it has reported.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  nlohmann::json Call(std::string_view method, nlohmann::json parameters);
  void Notice(const nlohmann::json& message);
  nlohmann::json Next();

  pid_t pid_ = -1;
  int write_ = -1, read_ = -1, calls_ = 0;
  nlohmann::json session_;
  bool loaded_ = false;
  std::string unread_;
  std::vector<std::string> complaints_;
};

// A promise of `value` once `condition` holds.
std::string When(std::string_view condition, std::string_view value);

}  // namespace dtnn::testing

#endif  // DTNN_APPS_TESTING_BROWSER_H_

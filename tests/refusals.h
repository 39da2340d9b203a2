// What the product says, kept out of the tests: the messages that a test records are compared at
// its end with those of tests/messages.txt. `./dev bless` writes that file from what the tests
// record; its diff is reviewed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <string>

#include "limpid/core/error.h"

namespace limpid {

// Records a text that the test at work makes the product say: a finding, a note, lines of help. Of
// those of a test that differ in what they got alone the first counts. Folders of this machine in
// it are called TMP, BUILD and SOURCE. From any thread.
void expect_message(std::string text);

// Expects an Error of this code, of one printable line, and records its message.
template <class F>
void expect_refused(ErrorCode code, const F& f, int line = __builtin_LINE()) {
  const ::testing::ScopedTrace trace("the caller", line, "here");
  try {
    f();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(name(error.code()), name(code)) << message;
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) {
      return c >= 0x20 && c <= 0x7e;
    })) << message;
    return expect_message(message);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "expected an Error, got another exception: " << error.what();
    return;
  }
  ADD_FAILURE() << "expected an Error of the code \"" << name(code) << "\", got none";
}

}  // namespace limpid

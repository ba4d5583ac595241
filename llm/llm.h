#pragma once
// All of minnow::llm.

#include <minnow/llm/checkpoint.h>
#include <minnow/llm/config.h>
#include <minnow/llm/embedding.h>
#include <minnow/llm/gguf.h>
#include <minnow/llm/linear.h>
#include <minnow/llm/lora.h>
#include <minnow/llm/sampler.h>

// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair_producer_consumer.c - frees on another thread: one makes messages, one reads and frees
 * them.
 *
 *	pair_producer_consumer [BATCHES]	default 80000
 *
 * Site: make_message, 120 bytes; 256 of them are passed on at a time. FREELIST: in front of
 * malloc() and free(); messages go back with the batch, to the producer's list, since one of the
 * consumer's would only grow. FIXED: the batch holds the messages themselves.
 */
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "freelist.h"
#include "workload.h"

#define BATCH		256
#define NR_SLOTS	4
#define NR_WORDS	15

struct message {
	uint64_t words[NR_WORDS];
};

static struct batch {
#ifdef FIXED
	struct message messages[BATCH];
#else
	struct message *messages[BATCH];
#endif
} slots[NR_SLOTS];
static sem_t empty, full;
static long nr_batches;

NOINLINE static struct message *make_message(struct batch *b, int i)
{
#ifdef FIXED
	return &b->messages[i];
#else
	return b->messages[i] = site_alloc(sizeof(struct message));
#endif
}

NOINLINE static void fill_message(struct message *m, uint64_t id)
{
	for (int i = 0; i < NR_WORDS; i++)
		m->words[i] = id = id * 6364136223846793005ULL + 1442695040888963407ULL;
}

NOINLINE static uint64_t read_message(const struct message *m)
{
	uint64_t sum = 0;

	for (int i = 0; i < NR_WORDS; i++)
		sum = (sum ^ m->words[i]) * 0xff51afd7ed558ccdULL;
	return sum;
}

NOINLINE static uint64_t consume_batch(struct batch *b)
{
	uint64_t sum = 0;

	for (int i = 0; i < BATCH; i++) {
#ifdef FIXED
		sum += read_message(&b->messages[i]);
#else
		sum += read_message(b->messages[i]);
#ifndef FREELIST
		free(b->messages[i]);
#endif
#endif
	}
	return sum;
}

static void *consume(void *sum)
{
	for (long i = 0; i < nr_batches; i++) {
		sem_wait(&full);
		*(uint64_t *)sum += consume_batch(&slots[i % NR_SLOTS]);
		sem_post(&empty);
	}
	return NULL;
}

static void produce_batch(struct batch *b, long nr)
{
#ifdef FREELIST
	for (int i = 0; i < BATCH && b->messages[i]; i++)
		site_free(b->messages[i], sizeof(struct message));
#endif
	for (int i = 0; i < BATCH; i++)
		fill_message(make_message(b, i), nr * BATCH + i);
}

int main(int argc, char **argv)
{
	pthread_t consumer;
	uint64_t sum = 0;

	nr_batches = arg_long(argc, argv, 1, 80000);
	sem_init(&empty, 0, NR_SLOTS);
	sem_init(&full, 0, 0);
	if (pthread_create(&consumer, NULL, consume, &sum))
		return 1;
	for (long i = 0; i < nr_batches; i++) {
		sem_wait(&empty);
		produce_batch(&slots[i % NR_SLOTS], i);
		sem_post(&full);
	}
	pthread_join(consumer, NULL);
	printf("%ld batches, checksum %016" PRIx64 "\n", nr_batches, sum);
	return 0;
}
